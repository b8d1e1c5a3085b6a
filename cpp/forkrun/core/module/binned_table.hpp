#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/core/module/conditions.hpp>

namespace forkrun {

/// Values in bins of 1 to 3 coordinates, such as scale factors: `table(pt, eta)`. The C++ twin of
/// forkrun.BinnedTable, with the same results. A bin includes its lower edge, not its upper one;
/// the condition's `outside` sets the value beyond the edges.
class BinnedTable {
 public:
  enum class Outside : std::uint8_t {
    nearest,  ///< the nearest bin
    flow,     ///< the underflow and overflow bins
    error,    ///< no value: an Error
  };

  /// \throws Error if the payload is not a table of `n_coordinates`.
  BinnedTable(const ConditionPayload& payload, std::size_t n_coordinates);

  template <typename... Coordinates>
  [[nodiscard]] double operator()(Coordinates... coordinates) const {
    return values_[bin(coordinates...)];
  }
  /// Square root of the variance.
  template <typename... Coordinates>
  [[nodiscard]] double error(Coordinates... coordinates) const {
    return std::sqrt(variances_[bin(coordinates...)]);
  }
  /// (n_bins + 1,) of one axis.
  [[nodiscard]] std::span<const double> edges(std::size_t axis) const { return edges_[axis]; }

 private:
  template <typename... Coordinates>
  [[nodiscard]] std::size_t bin(Coordinates... coordinates) const {
    return find({static_cast<double>(coordinates)...}, sizeof...(Coordinates));
  }
  [[nodiscard]] std::size_t find(const std::array<double, 3>& at, std::size_t n_coordinates) const;

  std::vector<std::span<const double>> edges_;
  std::span<const double> values_;  ///< with flow bins
  std::span<const double> variances_;
  Outside outside_{};
};

}  // namespace forkrun
