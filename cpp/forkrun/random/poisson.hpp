#pragma once

#include <array>
#include <cstdint>

#include <forkrun/random/distributions.hpp>

namespace forkrun::random {

inline constexpr double largest_poisson_mean = 1e12;
/// Below this mean a Poisson number takes one word, above it two for each trial, on average 1.1
/// to 1.3 trials.
inline constexpr double smallest_rejection_mean = 10.0;

/// Poisson numbers of a mean, whose constants are computed once.
class Poisson {
 public:
  /// 0 <= mean <= largest_poisson_mean
  explicit Poisson(double mean);
  [[nodiscard]] double mean() const { return mean_; }

  /// `next_word()` returns the words of the stream in order.
  template <typename NextWord>
  [[nodiscard]] std::int64_t operator()(NextWord&& next_word) const {
    if (mean_ < smallest_rejection_mean) {
      return by_inversion(next_word());
    }
    for (;;) {
      const auto first = next_word();
      const auto [number, is_accepted] = attempt(first, next_word());
      if (is_accepted) {
        return number;
      }
    }
  }

 private:
  struct Trial {
    std::int64_t number;
    bool is_accepted;
  };
  [[nodiscard]] std::int64_t by_inversion(std::uint64_t word) const;
  [[nodiscard]] Trial attempt(std::uint64_t first, std::uint64_t second) const;
  /// Whether v is below the ratio of the Poisson probability and the proposed one.
  [[nodiscard]] bool is_below(double k, double v, double edge) const;

  double mean_;
  double none_{};                                   ///< probability of 0, for small means
  double a_{}, b_{}, inverse_alpha_{}, squeeze_{};  ///< of the rejection
};

/// The same numbers for many words, of a mean below `smallest_rejection_mean`.
class PoissonTable {
 public:
  explicit PoissonTable(double mean);
  [[nodiscard]] std::int64_t operator()(std::uint64_t word) const;

 private:
  std::array<double, 64> sums_;  ///< cumulative probabilities; 1 where they vanish
};

/// log(k!) for integers k >= 0
[[nodiscard]] double log_factorial(double k);

}  // namespace forkrun::random
