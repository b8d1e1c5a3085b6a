#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/block_lumis.hpp>
#include <forkrun/core/data/event_id.hpp>

namespace forkrun {

/// Entries [first, last) of the file with this number in the job's list of files.
struct EntryRange {
  std::uint32_t file{};
  std::int64_t first{};
  std::int64_t last{};

  friend bool operator==(const EntryRange&, const EntryRange&) = default;
};

/// Consecutive selected entries of a block: [first, last).
struct EntryRun {
  std::int64_t first{};
  std::int64_t last{};
};

/// Ranges of entries in the order of a block's events.
using EntryRanges = std::span<const EntryRange>;

[[nodiscard]] inline std::int64_t n_events_of(EntryRanges ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](auto n, const auto& range) { return n + range.last - range.first; });
}

/// Events that are processed and committed together: of one lumi, a part of one, or several lumis
/// of one IOV.
struct UnitOfWork {
  std::uint64_t number{};
  LumiId lumi{};  ///< the first
  std::vector<EntryRange> ranges{};
  std::uint32_t iov{};            ///< number of the IOV that the lumis belong to
  std::vector<LumiSpan> lumis{};  ///< of its events, in order; empty for one lumi
  std::size_t block_size{};       ///< events; 0: the processor's setting
  std::uint32_t dataset{};        ///< number of the dataset of all events
};

/// Blocks of a unit, in order. Each has the entries of one or several ranges, anywhere in the
/// files.
class BlockList {
 public:
  void clear() {
    ranges_.clear();
    begins_.clear();
  }
  /// Begins a block with these entries.
  void begin(const EntryRange& range) {
    begins_.push_back(ranges_.size());
    ranges_.push_back(range);
  }
  /// Adds entries to the block that was begun last.
  void add(const EntryRange& range) { ranges_.push_back(range); }

  [[nodiscard]] std::size_t size() const { return begins_.size(); }
  [[nodiscard]] EntryRanges operator[](std::size_t block) const {
    const auto begin = begins_[block];
    const auto end = block + 1 < begins_.size() ? begins_[block + 1] : ranges_.size();
    return std::span{ranges_}.subspan(begin, end - begin);
  }
  void swap(BlockList& other) noexcept {
    ranges_.swap(other.ranges_);
    begins_.swap(other.begins_);
  }

 private:
  std::vector<EntryRange> ranges_;   ///< block after block
  std::vector<std::size_t> begins_;  ///< by block, in `ranges_`
};

struct OutputSummary {
  std::string label;
  std::string path;
  EventDigest written;
  std::int64_t n_bytes{};
  std::uint32_t checksum{};  ///< CRC-32C of the bytes to write, independent of the disk
};

struct UnitResult {
  EventDigest read;
  std::vector<OutputSummary> outputs;
  double wall_s{};
  double cpu_s{};
  std::size_t n_column_bytes{};  ///< largest size of a block's columns
  std::int64_t read_calls{};
  std::int64_t read_bytes{};
  std::int64_t cached_bytes{};
  std::size_t n_blocks{};
};

}  // namespace forkrun
