#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <forkrun/histograms/exact_sums.hpp>

namespace forkrun {

/// Sums kept by a histogram. w: weights of fills; y: samples of a profile. Products are rounded,
/// then summed exactly.
enum class Moments {
  counts,          ///< w
  weights,         ///< w, w²
  means,           ///< w, w y, w y²
  weighted_means,  ///< w, w², w y, w y²
};

[[nodiscard]] std::size_t n_sums_of(Moments moments);
[[nodiscard]] constexpr bool has_squares(Moments moments) {
  return moments == Moments::weights || moments == Moments::weighted_means;
}
[[nodiscard]] constexpr bool has_samples(Moments moments) {
  return moments == Moments::means || moments == Moments::weighted_means;
}

/// Entries with known cells. `samples`: of a profile, else null.
struct CellFills {
  std::span<const std::uint32_t> cells;
  const double* weights{};
  const double* samples{};

  [[nodiscard]] CellFills part(std::size_t first, std::size_t n) const {
    return {cells.subspan(first, n), weights + first,
            samples == nullptr ? nullptr : samples + first};
  }
};

/// Entries per batch: in near caches, and enough to be summed in doubles.
constexpr std::size_t most_moments = 4096;

/// A column for each sum, of at most `most_moments` entries.
class MomentColumns {
 public:
  MomentColumns(Moments moments, const CellFills& fills);
  MomentColumns(const MomentColumns&) = delete;
  MomentColumns& operator=(const MomentColumns&) = delete;
  ~MomentColumns() = default;

  [[nodiscard]] std::span<const double* const> columns() const {
    return std::span{columns_}.first(n_columns_);
  }

 private:
  void multiply(const double* one, const double* other, std::size_t n);

  std::size_t n_columns_{0};
  std::size_t n_products_{0};
  std::array<const double*, 4> columns_{};
  std::array<std::array<double, most_moments>, 3> products_;
};

/// Adds entries to the sums of their cells.
void add_moments(ExactSums& sums, Moments moments, const CellFills& fills);

}  // namespace forkrun
