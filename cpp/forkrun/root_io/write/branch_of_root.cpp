#include <forkrun/root_io/write/branch_of_root.hpp>

#include <algorithm>

#include <TBasket.h>
#include <TBranch.h>
#include <TBranchElement.h>
#include <TLeaf.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>

#include <forkrun/root_io/branch_layout.hpp>
#include <forkrun/root_io/write/leaf_range.hpp>

namespace forkrun::root_io {

namespace {

/// What a branch wants to know of a basket that is on file already.
class WrittenBasket : public TBasket {
 public:
  WrittenBasket(const BasketHeader& header, std::int64_t seek_key) {
    fNbytes = header.n_bytes;
    fObjlen = header.object_length;
    fKeylen = header.key_length;
    fNevBuf = header.n_entries;
    fSeekKey = seek_key;
  }
};

TLeaf* only_leaf(const TBranch& branch) {
  const auto* leaves = const_cast<TBranch&>(branch).GetListOfLeaves();
  return leaves->GetEntriesFast() == 1 ? static_cast<TLeaf*>(leaves->At(0)) : nullptr;
}

BranchTarget::Counts counts_of(const TBranch& branch) {
  constexpr int clones = 3, collection = 4;
  const auto* element = dynamic_cast<const TBranchElement*>(&branch);
  if (element != nullptr && (element->GetType() == clones || element->GetType() == collection ||
                             element->GetStreamerType() == TVirtualStreamerInfo::kCounter)) {
    return BranchTarget::Counts::objects;
  }
  const TLeaf* leaf = only_leaf(branch);
  return leaf != nullptr && leaf->IsRange() ? BranchTarget::Counts::values
                                            : BranchTarget::Counts::nothing;
}

class BranchOfRoot final : public BranchTarget {
 public:
  explicit BranchOfRoot(TBranch& branch) : branch_{branch} {}

  [[nodiscard]] std::string name() const override { return branch_.GetName(); }
  [[nodiscard]] std::string tree_name() const override { return branch_.GetTree()->GetName(); }
  [[nodiscard]] bool has_offsets() const override { return branch_.GetEntryOffsetLen() != 0; }
  [[nodiscard]] Counts counts() const override { return counts_of(branch_); }

  void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry) override {
    WrittenBasket basket{header, place};
    branch_.AddBasket(basket, true, first_entry);
  }

  void finish(std::int64_t n_entries, std::int64_t largest) override {
    const auto counts = this->counts();
    if (counts == Counts::values) {
      TLeaf& leaf = *only_leaf(branch_);
      include_range(leaf, {leaf.GetMinimum(), largest});
    } else if (counts == Counts::objects) {
      set_largest_count(branch_, std::max(largest_count(branch_), static_cast<int>(largest)));
    }
    branch_.AddLastBasket(n_entries);
  }

 private:
  TBranch& branch_;
};

}  // namespace

std::unique_ptr<BranchTarget> branch_of_root(TBranch& branch) {
  return std::make_unique<BranchOfRoot>(branch);
}

std::int64_t largest_told_count(TBranch& branch) {
  switch (counts_of(branch)) {
    case BranchTarget::Counts::objects: return largest_count(branch);
    case BranchTarget::Counts::values: return only_leaf(branch)->GetMaximum();
    default: return 0;
  }
}

}  // namespace forkrun::root_io
