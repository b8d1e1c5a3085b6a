#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>

namespace forkrun::root_io {

/// A leaf of a branch, as far as it matters for finding counts in entries.
struct LeafInEntry {
  std::size_t value_size{};
  std::size_t n_values = 1;
  bool is_fixed{};  ///< the same number of values in all entries
  bool counts{};    ///< the values, or objects, of others
  bool is_unsigned{};
  bool is_text{};  ///< it is told how long the longest text is
};

/// A branch that is being written. It is told which baskets are on file.
class WrittenBranch {
 public:
  WrittenBranch() = default;
  virtual ~WrittenBranch() = default;
  WrittenBranch(const WrittenBranch&) = delete;
  WrittenBranch& operator=(const WrittenBranch&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string tree_name() const = 0;
  /// Whether entries differ in size.
  [[nodiscard]] virtual bool has_offsets() const = 0;
  /// In the order of their values in an entry; which of them count others is known once those
  /// others are made.
  [[nodiscard]] virtual std::vector<LeafInEntry> leaves() const = 0;

  /// Enters the next basket, which is on file at `place`.
  virtual void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry) = 0;
  /// Widens the ranges of its leaves by those of another branch of the same structure.
  virtual void include(const BranchRecord& other) = 0;
  /// The branch is complete. `largest_counts`: of its leaves, as far as they count or are texts.
  virtual void finish(std::int64_t n_entries, std::span<const std::int64_t> largest_counts) = 0;
};

/// A tree that is being written to a file: its record by forkrun, or by ROOT. Its branches must not
/// outlive it.
class WrittenTree {
 public:
  WrittenTree() = default;
  virtual ~WrittenTree() = default;
  WrittenTree(const WrittenTree&) = delete;
  WrittenTree& operator=(const WrittenTree&) = delete;

  [[nodiscard]] virtual bool has(const std::string& branch) const = 0;
  /// Adds a branch for a column; a counted one needs its counter in the tree. \throws OutputError
  [[nodiscard]] virtual std::unique_ptr<WrittenBranch> add(const NewBranch& column) = 0;
  /// Adds a counting branch.
  [[nodiscard]] virtual std::unique_ptr<WrittenBranch> add_counter(const std::string& name) = 0;
  /// Writes the tree's own record. \throws OutputError
  virtual void write(std::int64_t n_entries) = 0;
};

}  // namespace forkrun::root_io
