#include <forkrun/formats/ttree/merge/baskets_of_root.hpp>

#include <TBranch.h>
#include <TTree.h>

namespace forkrun::root_io {

namespace {

BranchBaskets baskets_of(TBranch& branch) {
  BranchBaskets list{branch.GetEntries(), {}};
  const auto* starts = branch.GetBasketEntry();
  const auto* bytes = branch.GetBasketBytes();
  const int n_baskets = branch.GetWriteBasket() + 1;
  if (starts == nullptr || bytes == nullptr || n_baskets > branch.GetMaxBaskets()) {
    return list;
  }
  for (int i = 0; i < n_baskets; ++i) {
    const bool is_in_tree = branch.GetListOfBaskets()->At(i) != nullptr;
    list.baskets.push_back(listed_basket(starts[i], branch.GetBasketSeek(i), bytes[i], is_in_tree));
  }
  return list;
}

}  // namespace

TreeBaskets baskets_of(TTree& tree, const std::vector<TBranch*>& branches) {
  TreeBaskets lists{tree.GetEntries(), {}};
  for (auto* branch : branches) {
    lists.branches.push_back(baskets_of(*branch));
  }
  return lists;
}

}  // namespace forkrun::root_io
