#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/event_id.hpp>

namespace forkrun {

/// Consecutive events of one lumi, in a block or unit: they begin where the previous span ends and
/// end before event number `last`.
struct LumiSpan {
  LumiId lumi{};
  std::size_t last{};
};

/// Lumis of a block's events: one for all, or several in the order of events.
class BlockLumis {
 public:
  BlockLumis() = default;
  BlockLumis(LumiId only) : first_{only} {}  // NOLINT(google-explicit-constructor): the usual case
  /// `spans` are not copied; at least one.
  explicit BlockLumis(std::span<const LumiSpan> spans)
      : first_{spans.front().lumi},
        spans_{spans.size() > 1 ? spans : std::span<const LumiSpan>{}} {}

  [[nodiscard]] bool is_one() const { return spans_.empty(); }
  [[nodiscard]] std::size_t size() const { return is_one() ? 1 : spans_.size(); }
  [[nodiscard]] LumiId first() const { return first_; }
  [[nodiscard]] LumiId of(std::size_t event) const {
    return is_one() ? first_ : span_of(event)->lumi;
  }

  /// Calls use(lumi, first, last) for each lumi that has some of the events [first, last).
  template <typename Use>
  void for_each(std::size_t first, std::size_t last, const Use& use) const {
    if (is_one()) {
      use(first_, first, last);
      return;
    }
    for (auto span = span_of(first); first < last; ++span) {
      const auto end = std::min(span->last, last);
      use(span->lumi, first, end);
      first = end;
    }
  }

  /// Span of an event, for several lumis.
  [[nodiscard]] LumiSpan span_at(std::size_t event) const { return *span_of(event); }

 private:
  [[nodiscard]] std::span<const LumiSpan>::iterator span_of(std::size_t event) const {
    return std::ranges::upper_bound(spans_, event, {}, &LumiSpan::last);
  }

  LumiId first_{};
  std::span<const LumiSpan> spans_;  ///< empty if there is one
};

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

/// Appends entries: to the last range, if they follow it.
inline void append(std::vector<EntryRange>& ranges, const EntryRange& more) {
  auto* before = ranges.empty() ? nullptr : &ranges.back();
  if (before != nullptr && before->file == more.file && before->last == more.first) {
    before->last = more.last;
  } else {
    ranges.push_back(more);
  }
}

}  // namespace forkrun
