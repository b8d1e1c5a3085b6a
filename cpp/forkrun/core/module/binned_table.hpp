#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/core/module/conditions.hpp>

namespace forkrun {

/// Values in bins of 1 to 3 coordinates, such as scale factors: `table(pt, eta)`. The twin of
/// forkrun.BinnedTable in Python, with the same results. A bin holds its lower edge, not its upper
/// one; what holds beyond the edges the condition says (`outside`).
class BinnedTable {
 public:
  enum class Outside : std::uint8_t {
    nearest,  ///< the bin that is next
    flow,     ///< the underflow and overflow bins
    error,    ///< nothing: an Error
  };

  /// \throws Error if the payload is no table of so many coordinates.
  BinnedTable(const ConditionPayload& payload, std::size_t n_coordinates);

  template <typename... Coordinates>
  [[nodiscard]] double operator()(Coordinates... coordinates) const {
    return values_[bin(coordinates...)];
  }
  /// The square root of the variance.
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
