#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun::root_io {

/// Adds entries at the end: to the last range, if they follow it.
inline void append(std::vector<EntryRange>& ranges, const EntryRange& more) {
  auto* before = ranges.empty() ? nullptr : &ranges.back();
  if (before != nullptr && before->file == more.file && before->last == more.first) {
    before->last = more.last;
  } else {
    ranges.push_back(more);
  }
}

[[nodiscard]] inline std::int64_t n_events_of(std::span<const EntryRange> ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](auto n, const auto& range) { return n + range.last - range.first; });
}

}  // namespace forkrun::root_io
