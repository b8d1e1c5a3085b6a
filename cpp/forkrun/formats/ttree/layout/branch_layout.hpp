#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>

class TBranch;
class TBranchElement;
class TLeaf;
class TTree;
class TVirtualCollectionProxy;

namespace forkrun::root_io {

[[nodiscard]] std::vector<TLeaf*> leaves_of(TBranch& branch);

/// Whether the entries of a branch are numbers of objects.
[[nodiscard]] bool counts_objects(const TBranch& branch);

/// By leaf: the largest number of values or objects that the branch tells; 0: it counts none.
[[nodiscard]] std::vector<std::int64_t> largest_told_counts(TBranch& branch);
/// Largest and smallest value, or length of the longest text.
[[nodiscard]] LeafRange told_range(const TLeaf& leaf);

struct EntryForm;

/// How the entries of a branch lie in its baskets.
struct BranchLayout {
  std::string name;
  std::optional<ColumnType> column;  ///< none: cannot be read as a column
  std::string type_name;             ///< for people, and to compare files
  std::string counter;               ///< name of the counting branch, "" if none
  std::size_t header_bytes{};        ///< before the values of each entry (std::vector: 10)
  bool has_offsets{};                ///< entries differ in size
  std::size_t entry_size{};          ///< bytes of each; 0: they differ, or it is not told
  /// Form of objects, and of leaves of more than plain numbers, which are taken apart; else null.
  std::shared_ptr<const EntryForm> form{};

  /// The column type's name, or "other:<type_name>".
  [[nodiscard]] std::string described_type() const;
  /// The same, and what else entries depend on: their bytes mean the same where this is the same.
  [[nodiscard]] std::string described_form() const;
};

/// Bytes of a branch and of those within it, by the tree's own account.
struct BranchSizes {
  std::int64_t n_bytes{};         ///< of the baskets, unpacked
  std::int64_t n_stored_bytes{};  ///< in the file; 0 while they are within the tree's record

  BranchSizes& operator+=(const BranchSizes& other) {
    n_bytes = wrapped(n_bytes, other.n_bytes);
    n_stored_bytes = wrapped(n_stored_bytes, other.n_stored_bytes);
    return *this;
  }

 private:
  /// Sum that may wrap: in a damaged file these are any numbers.
  static std::int64_t wrapped(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

/// Before the values of a std::vector: byte count, version, size.
constexpr std::size_t vector_header_bytes = 10;

/// Place of a top-level branch that does not depend on the others' order: its name and, where
/// several have one name, its number among these.
struct BranchPlace {
  std::string name;
  std::size_t number{};
  auto operator<=>(const BranchPlace&) const = default;
};
/// The places of branches whose names are given in their order.
class BranchPlaces {
 public:
  [[nodiscard]] BranchPlace next(const std::string& name) { return {name, n_seen_[name]++}; }

 private:
  std::map<std::string, std::size_t> n_seen_;
};

/// The top-level branch at this place, nullptr if there is none.
[[nodiscard]] TBranch* branch_at(TTree& tree, const BranchPlace& place);

[[nodiscard]] BranchLayout layout_of(TBranch& branch);
/// It, and not only branches within it.
[[nodiscard]] bool has_baskets(TBranch& branch);
/// Whether a branch within another one was never filled, as it was disabled when the tree was
/// written: there is nothing to copy, and as hadd does, outputs leave it out.
[[nodiscard]] bool was_disabled(TBranch& within);

/// The branches that have baskets, each before those within it, the table of references of a whole
/// tree last; and those that only hold others.
struct BranchTree {
  std::vector<TBranch*> filled;
  std::vector<TBranch*> holders;
};
[[nodiscard]] BranchTree all_branches(TTree& tree);
[[nodiscard]] BranchTree all_branches(TBranch& top);
/// Whether its own entries are ranges of bytes that mean the same in any basket, so that they can
/// be copied unread.
[[nodiscard]] bool has_relocatable_entries(TBranch& branch);
/// All within it, and itself, can be copied unread.
[[nodiscard]] bool is_relocatable(TBranch& top);
/// Type and form of a branch of objects, for comparison with that of another file.
[[nodiscard]] std::string form_of(TBranch& branch);
/// Most objects that an entry of any branch has: readers make room for as many. 0 if it is unknown.
[[nodiscard]] int largest_count(TBranch& branch);
void set_largest_count(TBranch& branch, int largest);

/// Whether a collection that has no class of its values is of numbers: ROOT takes a class that no
/// file has described, and pointers to one, for numbers, which depends on the files that were
/// opened before.
[[nodiscard]] bool holds_numbers(const TVirtualCollectionProxy& collection);

/// Whether entries of a branch of objects are ranges of bytes that mean the same in any basket.
/// Those that hold pointers to objects refer to places in their basket: the name of a class is
/// written where it is met first, and referred to from then on. Those of classes with streaming of
/// their own may do anything. For others the descriptions of the classes decide.
[[nodiscard]] bool has_movable_entries(TBranchElement& branch);

/// Whether ROOT would read a branch's entries otherwise in a file of today's than in one of
/// `version`: it wrote arrays of pointers to objects as the objects alone until 5.15/08, and arrays
/// of objects in another form until 3.02/07.
[[nodiscard]] bool depends_on_file_version(TBranchElement& branch, int version);

}  // namespace forkrun::root_io
