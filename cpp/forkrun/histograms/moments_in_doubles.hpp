#pragma once

#include <forkrun/histograms/moments.hpp>

namespace forkrun {

/// Adds many entries with samples, of few cells: these are first summed in doubles, each value in
/// two parts, so that all of these sums are exact. Most entries then cost one or two vector
/// additions; those few whose values are too small for it are added by themselves.
/// \returns false, and nothing is added, if that does not pay, or would not be exact. \pre at most
/// `most_moments` entries
[[nodiscard]] bool add_in_doubles(ExactSums& sums, Moments moments, const CellFills& fills);

}  // namespace forkrun
