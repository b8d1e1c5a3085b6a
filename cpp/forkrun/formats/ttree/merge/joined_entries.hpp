#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/table/row_origins.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>

namespace forkrun::root_io {

/// Entries of a tree that are written anew: collected, from one file after the other, until they
/// make a cluster, whose baskets are then written. Where clusters end depends on the entries alone.
class JoinedEntries {
 public:
  using Readers = std::vector<std::unique_ptr<BranchReader>>;

  /// `writers`: of all branches, once entries are added.
  JoinedEntries(std::vector<BranchWriter>& writers, RecordFile& output)
      : writers_{writers}, output_{output} {}

  /// `readers`: of the same branches as the writers. \throws InputError, OutputError
  void add(const Readers& readers, std::span<const RowRange> rows);
  /// Ends the present cluster: before baskets are entered as they are, and at the end.
  void flush();

 private:
  void collect(const Readers& readers, const EntryRun& entries);
  [[nodiscard]] std::size_t n_pending_bytes() const;
  void choose_step(double entry_bytes);

  std::vector<BranchWriter>& writers_;
  RecordFile& output_;
  std::int64_t step_{1};  ///< entries that are collected at a time
  double step_bytes_{};   ///< of them, as of those before
};

}  // namespace forkrun::root_io
