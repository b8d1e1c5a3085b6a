#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <forkrun/histograms/moments.hpp>

namespace forkrun {

/// Values of entries, or one that all have.
struct FillColumn {
  const double* values{};
  bool is_one{};
  const float* floats{};  ///< unless `values` are given
};

/// Where entries are on an axis: their bins, from -1 (underflow) to n_bins (overflow), or, on a
/// regular or variable axis, their coordinates.
struct FillAxis {
  std::uint32_t n_bins{};
  bool has_underflow{};
  bool has_overflow{};
  const std::int32_t* bins{};
  const double* coordinates{};  ///< unless `bins` are given
  const float* floats{};        ///< unless `bins` or `coordinates` are given
  double low{};
  double width{};         ///< of all bins together
  const double* edges{};  ///< (n_bins + 1,) of a variable axis, instead of low and width
  bool is_one{};          ///< one for all entries
};

/// Coordinates that are NaN, of all axes; they are in the overflow.
[[nodiscard]] std::size_t count_nan(std::span<const FillAxis> axes, std::size_t n_entries);

/// Finds the cells of entries and gives these to `add`, at most `most_moments` at a time; the first
/// axis runs fastest. Entries in flow bins that an axis does not have are left out. Bins of regular
/// and variable axes are those of boost-histogram, to the last bit. `samples`: of a profile
void find_fills(std::span<const FillAxis> axes, FillColumn weights,
                std::optional<FillColumn> samples, std::size_t n_entries,
                const std::function<void(const CellFills&)>& add);

/// Counts entries as `find_fills` finds them. `counts`: of each cell.
void count_entries(std::span<std::uint32_t> counts, std::span<const FillAxis> axes,
                   std::size_t n_entries);

/// Finds the cells of entries, in place of those outside of axes, which are left out: also of
/// `weights` and `samples`, unless these are null. \returns how many are left
[[nodiscard]] std::size_t find_cells(std::span<const FillAxis> axes, std::span<std::uint32_t> cells,
                                     double* weights, double* samples);

}  // namespace forkrun
