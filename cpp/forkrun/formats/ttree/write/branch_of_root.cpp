#include <forkrun/formats/ttree/write/branch_of_root.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

#include <TBasket.h>
#include <TBranch.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/leaf_range.hpp>
#include <forkrun/formats/ttree/write/output_schema.hpp>

namespace forkrun::root_io {

/// Not by TTree::GetBranch, which finds branches that the copy of a tree was made without.
bool RootBranches::has(const std::string& branch) const {
  return tree_.GetListOfBranches()->FindObject(branch.c_str()) != nullptr;
}

std::unique_ptr<BranchTarget> RootBranches::add(const NewBranch& column) {
  return branch_of_root(add_branch(tree_, column));
}

std::unique_ptr<BranchTarget> RootBranches::add_counter(const std::string& name) {
  return branch_of_root(root_io::add_counter(tree_, name));
}

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

LeafInEntry leaf_in_entry(const TLeaf& leaf) {
  const bool is_fixed = is_arithmetic(leaf.ClassName()) && leaf.GetLeafCount() == nullptr;
  return {static_cast<std::size_t>(leaf.GetLenType()),
          static_cast<std::size_t>(std::max(leaf.GetLenStatic(), 0)), is_fixed, leaf.IsRange(),
          leaf.IsUnsigned()};
}

class BranchOfRoot final : public BranchTarget {
 public:
  explicit BranchOfRoot(TBranch& branch) : branch_{branch} {}

  [[nodiscard]] std::string name() const override { return branch_.GetName(); }
  [[nodiscard]] std::string tree_name() const override { return branch_.GetTree()->GetName(); }
  [[nodiscard]] bool has_offsets() const override { return branch_.GetEntryOffsetLen() != 0; }
  [[nodiscard]] std::vector<CountPlace> counts() const override {
    if (counts_objects(branch_)) {
      return {{0, 0, sizeof(std::int32_t), false}};
    }
    std::vector<LeafInEntry> leaves;
    std::ranges::transform(leaves_of(branch_), std::back_inserter(leaves),
                           [](const TLeaf* leaf) { return leaf_in_entry(*leaf); });
    return count_places(leaves);
  }

  void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry) override {
    WrittenBasket basket{header, place};
    branch_.AddBasket(basket, true, first_entry);
  }

  void include(const BranchRecord& other) override {
    const auto leaves = leaves_of(branch_);
    for (std::size_t i = 0; i < other.leaves.size(); ++i) {
      if (other.leaves[i]) {
        include_range(*leaves[i], *other.leaves[i]);
      }
    }
    set_largest_count(branch_, std::max(largest_count(branch_), other.largest_count));
  }

  void finish(std::int64_t n_entries, std::span<const std::int64_t> largest_counts) override {
    const auto leaves = leaves_of(branch_);
    for (const auto& [number, at, size, is_unsigned] : counts()) {
      const auto largest = number < largest_counts.size() ? largest_counts[number] : 0;
      if (counts_objects(branch_)) {
        set_largest_count(branch_, std::max(largest_count(branch_), static_cast<int>(largest)));
      } else {
        include_range(*leaves[number], {leaves[number]->GetMinimum(), largest});
      }
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

}  // namespace forkrun::root_io
