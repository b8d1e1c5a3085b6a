#pragma once

#include <cstdint>

#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/write/branch_maker.hpp>

namespace forkrun::root_io {

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
