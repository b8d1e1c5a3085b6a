#include <forkrun/formats/ttree/read/stored_branch.hpp>

#include <algorithm>
#include <limits>

#include <TBasket.h>
#include <TBranch.h>
#include <TBufferFile.h>
#include <TTree.h>
#include <ROOT/TIOFeatures.hxx>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

BranchBaskets listed_baskets(TBranch& branch) {
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

/// A small last basket may be kept within the tree's own record instead of a record of its own.
BasketOfTree basket_of_tree(TBranch& branch, const StoredBasket& stored, bool has_offsets) {
  auto* basket = dynamic_cast<TBasket*>(branch.GetListOfBaskets()->At(stored.number));
  if (basket == nullptr || basket->GetBufferRef() == nullptr) {
    throw Error("the basket is missing");
  }
  const auto key_length = basket->GetKeylen();
  const auto last = basket->GetLast();
  const auto* buffer = basket->GetBufferRef();
  if (key_length < 0 || last < key_length || last > buffer->BufferSize() ||
      basket->GetNevBuf() != stored.n_entries) {
    throw Error("a basket is damaged: its sizes do not agree");
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer->Buffer());
  BasketOfTree copy{stored.n_entries, {bytes + key_length, bytes + last}};
  if (!has_offsets ||
      branch.GetIOFeatures().Test(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap)) {
    return copy;  // ROOT makes them of counts that it takes from where it reads
  }
  const auto* offsets = basket->GetEntryOffset();
  if (offsets == nullptr || basket->GetNevBuf() > basket->GetNevBufSize()) {
    throw Error("a basket has no offsets of its entries");
  }
  copy.offsets.assign(offsets, offsets + basket->GetNevBuf());
  copy.offsets.push_back(last);
  move_offsets(copy.offsets, key_length);
  return copy;
}

std::int64_t least_entries_within(TBranch& top) {
  auto least = std::numeric_limits<std::int64_t>::max();
  for (auto* branch : all_branches(top).filled) {
    if (branch->GetListOfBranches()->GetEntriesFast() == 0) {
      least = std::min(least, static_cast<std::int64_t>(branch->GetEntries()));
    }
  }
  return least;
}

}  // namespace

TreeBaskets baskets_of(TTree& tree, const std::vector<TBranch*>& branches) {
  TreeBaskets lists{tree.GetEntries(), {}};
  for (auto* branch : branches) {
    lists.branches.push_back(listed_baskets(*branch));
  }
  return lists;
}

StoredBranch stored_branch(TBranch& branch, const InputTree& tree, const TreeFile& file) {
  StoredBranch stored{&tree, layout_of(branch)};
  stored.is_split = branch.GetListOfBranches()->GetEntriesFast() > 0;
  stored.n_entries = branch.GetEntries();
  stored.n_least_entries = stored.is_split ? least_entries_within(branch) : stored.n_entries;
  stored.n_told_bytes = branch.GetTotBytes();
  stored.sizes = {branch.GetTotBytes("*"), branch.GetZipBytes("*")};
  stored.compression = branch.GetCompressionSettings();
  stored.largest_counts = largest_told_counts(branch);
  if (has_baskets(branch)) {
    stored.baskets = checked_baskets(listed_baskets(branch), stored.layout.name, file);
  }
  for (const auto& basket : stored.baskets) {
    if (basket.seek == 0) {
      try {
        stored.of_tree[basket.number] = basket_of_tree(branch, basket, stored.layout.has_offsets);
      } catch (const Error& error) {
        throw_damaged(file, stored.layout.name, basket.first_entry, error.what());
      }
    }
  }
  return stored;
}

}  // namespace forkrun::root_io
