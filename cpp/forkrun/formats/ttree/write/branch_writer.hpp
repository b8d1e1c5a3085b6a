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
#include <forkrun/formats/ttree/write/branch_samples.hpp>
#include <forkrun/formats/ttree/write/written_tree.hpp>

namespace forkrun::root_io {

/// Entries of an input, and the number that the first of them has in the output.
struct NumberedRun {
  EntryRun entries;
  std::int64_t number{};
};

/// Where entries have the number of values, or objects, of others, or of characters of a text.
struct CountPlace {
  std::size_t leaf{};               ///< of its branch
  std::optional<std::size_t> at{};  ///< byte of the entry; none: the input tells the largest number
  std::size_t value_size{};
  bool is_unsigned{};
};

/// Collects entries of one output branch, as they will be on disk, and writes them as a basket.
/// Distinct writers collect and encode at the same time; only `write` is serial. Notes samples of
/// what goes in: of each call the first and the last entry.
class BranchWriter {
 public:
  BranchWriter(std::unique_ptr<WrittenBranch> branch, Compression compression);

  /// Copies entries as they are from the baskets of an input branch of the same type.
  void copy(BranchReader& reader, std::span<const EntryRun> runs);
  /// The same of entries in the order in which they are stored, so that each basket is taken once.
  void gather(BranchReader& reader, std::span<const NumberedRun> runs);
  /// Puts all runs that were gathered into order. `order`: which one comes first, second, ….
  void arrange(std::span<const std::size_t> order);
  /// Adds the values of selected events of a column; runs count from the begin of the column.
  void add(const Column& column, std::span<const EntryRun> runs);
  /// Adds the numbers of values of selected events of a jagged column.
  void add_counts(const Column& column, std::span<const EntryRun> runs);

  /// Entries that are on file.
  [[nodiscard]] std::int64_t n_written() const { return n_written_; }
  [[nodiscard]] std::size_t n_pending_bytes() const { return pending_.size(); }
  /// Makes a basket of what was collected. \throws VerificationFailed if samples differ from it.
  void encode();
  /// Writes what `encode` made.
  void write(RecordFile& file);
  /// Writes a basket that ROOT has filled, and tells its branch about; nothing may be pending.
  /// Gives its header, with its place. `offsets`: of all entries, or none if they have
  /// `entry_size`.
  [[nodiscard]] BasketHeader write_filled(RecordFile& file, std::span<const std::byte> entries,
                                          std::vector<std::int32_t> offsets,
                                          std::int32_t entry_size, std::int32_t n_entries);
  /// Enters a basket that is on file already; nothing may be pending. `first_entry`: its own in
  /// the tree; `ends`: of what it held before it was written. \throws VerificationFailed if another
  /// one has to come next.
  void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry,
             std::uint32_t ends);
  /// The largest counts of an input branch, baskets of which are entered as they are.
  void include_largest(std::span<const std::int64_t> counts);
  /// The same of one that a record describes.
  void include(const BranchRecord& other) { branch_->include(other); }
  /// The branch is complete.
  void finish();

  /// Samples that the file has to hold.
  [[nodiscard]] const BranchSamples& samples() const { return samples_; }

 private:
  [[nodiscard]] std::span<const std::byte> pending_entry(std::int64_t number) const;
  void note(BranchReader& reader, std::int64_t entry, std::int64_t number);
  void add_values(const Column& column, std::span<const EntryRun> runs);
  void add_nested(const Column& column, std::span<const EntryRun> runs);
  void copy(BranchReader& reader, EntryRun run);
  void note_largest(const BranchReader& reader, std::size_t n_bytes_before,
                    std::size_t n_entries_before);
  void copy_fixed(const Basket& basket, EntryRun run);
  void copy_varying(const Basket& basket, EntryRun run);
  void note_counts(std::size_t n_bytes_before, std::size_t n_entries_before);
  void note_counts_at(const CountPlace& place, std::size_t begin);
  void include_largest(std::size_t leaf, std::int64_t count);
  [[nodiscard]] std::span<const CountPlace> counts();
  [[nodiscard]] BasketHeader put(RecordFile& file);

  std::unique_ptr<WrittenBranch> branch_;
  Compression compression_;
  bool has_offsets_;
  std::int32_t entry_size_{};
  std::int64_t n_written_{};
  std::int32_t n_pending_{};
  std::vector<std::int64_t> largest_counts_;       ///< by leaf
  std::optional<std::vector<CountPlace>> counts_;  ///< none: not asked for yet
  Bytes pending_;
  std::vector<std::int32_t> offsets_;
  /// A run that was gathered, in what is pending.
  struct Gathered {
    std::size_t byte{}, n_bytes{}, offset{}, n_offsets{};
  };
  std::vector<Gathered> gathered_;
  std::optional<BasketRecord> encoded_;
  BranchSamples samples_;
};

}  // namespace forkrun::root_io
