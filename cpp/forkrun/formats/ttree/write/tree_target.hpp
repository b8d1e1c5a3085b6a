#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/write/branch_target.hpp>

namespace forkrun::root_io {

/// Adds branches to a tree that is written, which they are not to outlive.
class BranchMaker {
 public:
  BranchMaker() = default;
  virtual ~BranchMaker() = default;
  BranchMaker(const BranchMaker&) = delete;
  BranchMaker& operator=(const BranchMaker&) = delete;

  [[nodiscard]] virtual bool has(const std::string& branch) const = 0;
  /// A branch for a column; one that is counted needs its counter in the tree.
  [[nodiscard]] virtual std::unique_ptr<BranchTarget> add(const ColumnDescription& column) = 0;
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
