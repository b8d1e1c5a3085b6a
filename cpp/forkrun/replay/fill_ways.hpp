#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forkrun::replay {

/// Ways for threads to fill one histogram, one entry at a time.
enum class FillWay : std::uint8_t {
  copy,       ///< a table of sums for each thread, added at the end
  lock,       ///< one table, and a lock for each fill
  buffer,     ///< one table, and a buffer of fills for each thread
  exact,      ///< forkrun's exact sums: a filler for each thread's loop
  one_by_one  ///< the same, without fillers
};

/// Entries to fill: x and y flat from 0 to 1, weights falling.
struct Entries {
  explicit Entries(std::size_t n);
  std::vector<double> x, y, w;
};

/// A histogram from 0 to 1: one axis, or two of the same number of bins.
struct FillCase {
  std::size_t n_axes = 1;
  std::size_t n_bins = 100;
  bool is_weighted{};
};

struct FillTime {
  double wall_s{};
  double cpu_s{};  ///< of all threads
};

/// Fills all entries, an equal part by each thread, into a new histogram.
[[nodiscard]] FillTime time_fills(const Entries& entries, const FillCase& of, FillWay way,
                                  std::size_t n_threads);

}  // namespace forkrun::replay
