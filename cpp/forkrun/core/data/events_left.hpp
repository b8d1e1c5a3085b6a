#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// Runs of events for which the mask is 1.
[[nodiscard]] std::vector<EntryRun> runs_of(std::span<const std::uint8_t> mask);

/// The column's values in the events for which the mask, one byte per event of the column, is 1.
[[nodiscard]] Column events_left(const Column& from, std::span<const std::uint8_t> mask);

}  // namespace forkrun
