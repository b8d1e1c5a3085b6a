#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>

namespace forkrun::root_io {

/// A leaf of a branch, as far as it matters for finding counts in entries.
struct LeafInEntry {
  std::size_t value_size{};
  std::size_t n_values = 1;
  bool is_fixed{};  ///< the same number of values in all entries
  bool counts{};    ///< the values of others
  bool is_unsigned{};
};

/// Where entries have the number of values, or objects, of others.
struct CountPlace {
  std::size_t leaf{};               ///< of its branch
  std::optional<std::size_t> at{};  ///< byte of the entry; none: it differs between entries
  std::size_t value_size{};
  bool is_unsigned{};
};

/// Those of a branch with these leaves, which follow each other in each entry.
[[nodiscard]] std::vector<CountPlace> count_places(std::span<const LeafInEntry> leaves);

/// A branch that is written: it is told which baskets are on file.
class BranchTarget {
 public:
  BranchTarget() = default;
  virtual ~BranchTarget() = default;
  BranchTarget(const BranchTarget&) = delete;
  BranchTarget& operator=(const BranchTarget&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string tree_name() const = 0;
  /// Whether entries differ in size.
  [[nodiscard]] virtual bool has_offsets() const = 0;
  /// Which of its values are numbers of others: known once those that it counts are made.
  [[nodiscard]] virtual std::vector<CountPlace> counts() const = 0;

  /// Enters the next basket, which is on file at `place`.
  virtual void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry) = 0;
  /// Widens the ranges of its leaves by those of another one of the same structure.
  virtual void include(const BranchRecord& other) = 0;
  /// The branch is complete. `largest_counts`: of its leaves, as far as they count.
  virtual void finish(std::int64_t n_entries, std::span<const std::int64_t> largest_counts) = 0;
};

/// Adds branches to a tree that is written, which they are not to outlive.
class BranchMaker {
 public:
  BranchMaker() = default;
  virtual ~BranchMaker() = default;
  BranchMaker(const BranchMaker&) = delete;
  BranchMaker& operator=(const BranchMaker&) = delete;

  [[nodiscard]] virtual bool has(const std::string& branch) const = 0;
  /// A branch for a column; one that is counted needs its counter in the tree.
  [[nodiscard]] virtual std::unique_ptr<BranchTarget> add(const NewBranch& column) = 0;
  /// A counting branch.
  [[nodiscard]] virtual std::unique_ptr<BranchTarget> add_counter(const std::string& name) = 0;
};

/// A tree that is written, and its file: by forkrun's own code, or by ROOT.
class TreeTarget {
 public:
  TreeTarget() = default;
  virtual ~TreeTarget() = default;
  TreeTarget(const TreeTarget&) = delete;
  TreeTarget& operator=(const TreeTarget&) = delete;

  [[nodiscard]] virtual RecordFile& file() = 0;
  [[nodiscard]] virtual BranchMaker& branches() = 0;
  /// Writes the tree's own record; closes and syncs the file. \throws OutputError
  virtual void close(std::int64_t n_entries) = 0;
  /// Removes the file.
  virtual void abandon() noexcept = 0;
};

}  // namespace forkrun::root_io
