#pragma once

#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

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
