#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <forkrun/histograms/moments.hpp>

namespace forkrun {

/// Values of entries, or one value for all.
struct FillColumn {
  const double* values{};
  bool is_one{};
  const float* floats{};  ///< if there are no `values`
};

/// Places of entries on an axis: bins, from -1 (underflow) to n_bins (overflow), or, on a regular
/// or variable axis, coordinates.
struct FillAxis {
  std::uint32_t n_bins{};
  bool has_underflow{};
  bool has_overflow{};
  const std::int32_t* bins{};
  const double* coordinates{};  ///< if there are no `bins`
  const float* floats{};        ///< if there are no `bins` or `coordinates`
  double low{};
  double width{};         ///< of all bins together
  const double* edges{};  ///< (n_bins + 1,) of a variable axis, instead of low and width
  bool is_one{};          ///< one place for all entries
};

/// Number of coordinates that are NaN, over all axes; they are in the overflow.
[[nodiscard]] std::size_t count_nan(std::span<const FillAxis> axes, std::size_t n_entries);

/// Finds the cells of entries and passes them to `add`, at most `most_moments` at a time; the first
/// axis runs fastest. Entries in missing flow bins are left out. Bins of regular and variable axes
/// equal boost-histogram's to the last bit. `samples`: of a profile
void find_fills(std::span<const FillAxis> axes, FillColumn weights,
                std::optional<FillColumn> samples, std::size_t n_entries,
                const std::function<void(const CellFills&)>& add);

/// Counts entries found by `find_fills`. `counts`: by cell.
void count_entries(std::span<std::uint32_t> counts, std::span<const FillAxis> axes,
                   std::size_t n_entries);

/// Finds the cells of entries, and removes entries outside of axes, from `weights` and `samples`
/// too, unless these are null. \returns the number left
[[nodiscard]] std::size_t find_cells(std::span<const FillAxis> axes, std::span<std::uint32_t> cells,
                                     double* weights, double* samples);

}  // namespace forkrun
