#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/write/branch_target.hpp>

namespace forkrun::root_io {

/// Collects entries of one output branch, as they will be on disk, and writes them as a basket.
/// Distinct writers collect and encode at the same time; only `write` is serial.
class BranchWriter {
 public:
  BranchWriter(std::unique_ptr<BranchTarget> branch, Compression compression);

  /// Copies entries as they are from the baskets of an input branch of the same type.
  void copy(BranchReader& reader, std::span<const EntryRun> runs);
  /// Adds the values of selected events of a column; runs count from the begin of the column.
  void add(const Column& column, std::span<const EntryRun> runs);
  /// Adds the numbers of values of selected events of a jagged column.
  void add_counts(const Column& column, std::span<const EntryRun> runs);

  [[nodiscard]] std::size_t n_pending_bytes() const { return pending_.size(); }
  /// Makes a basket of what was collected.
  void encode();
  /// Writes what `encode` made.
  void write(RecordFile& file);
  /// Enters a basket that is on file already; nothing may be pending.
  void enter(const BasketHeader& header, std::int64_t place);
  /// The largest counts of an input branch, baskets of which are entered as they are.
  void include_largest(std::span<const std::int64_t> counts);
  /// Entries that ROOT has added.
  void pass(std::int64_t n_entries) { n_written_ += n_entries; }
  /// The branch is complete.
  void finish();

 private:
  void add_nested(const Column& column, std::span<const EntryRun> runs);
  void copy_fixed(const Basket& basket, EntryRun run);
  void copy_varying(const Basket& basket, EntryRun run);
  void note_counts(std::size_t n_bytes_before, std::size_t n_entries_before);
  void note_counts_at(const CountPlace& place, std::size_t begin);
  void include_largest(std::size_t leaf, std::int64_t count);

  std::unique_ptr<BranchTarget> branch_;
  Compression compression_;
  bool has_offsets_;
  std::int32_t entry_size_{};
  std::int64_t n_written_{};
  std::int32_t n_pending_{};
  std::vector<std::int64_t> largest_counts_;  ///< by leaf
  Bytes pending_;
  std::vector<std::int32_t> offsets_;
  std::optional<BasketRecord> encoded_;
};

}  // namespace forkrun::root_io
