#include <forkrun/random/poisson.hpp>

#include <cmath>

namespace forkrun::random {

namespace {

constexpr double half_log_two_pi = 0x1.d67f1c864beb5p-1;
constexpr double smallest_probability = 0x1p-60;
constexpr int n_small_factorials = 19;  // 18! is exact in double precision

double small_factorial(int k) {
  double product = 1.0;
  for (int factor = 2; factor <= k; ++factor) {
    product *= factor;
  }
  return product;
}

/// log(k!) - (k log(k) - k), by Stirling's series.
double stirling_rest(double k) {
  const auto z = 1.0 / (k * k);
  const auto series = 1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680)));
  return half_log_two_pi + 0.5 * portable_log(k) + series / k;
}

/// log of the Poisson probability of k, without the large terms that would cancel.
double log_probability(double k, double mean) {
  if (k < n_small_factorials) {
    return k * portable_log(mean) - mean - log_factorial(k);
  }
  return k * portable_log(mean / k) + (k - mean) - stirling_rest(k);
}

}  // namespace

double log_factorial(double k) {
  return k < n_small_factorials ? portable_log(small_factorial(static_cast<int>(k)))
                                : k * portable_log(k) - k + stirling_rest(k);
}

Poisson::Poisson(double mean) : mean_{mean} {
  if (mean < smallest_rejection_mean) {
    none_ = portable_exp(-mean);
    return;
  }
  b_ = 0.931 + 2.53 * std::sqrt(mean);
  a_ = -0.059 + 0.02483 * b_;
  inverse_alpha_ = 1.1239 + 1.1328 / (b_ - 3.4);
  squeeze_ = 0.9277 - 3.6224 / (b_ - 2.0);
}

/// The least k whose cumulative probability is above a uniform number; ends where probabilities
/// vanish in double precision.
std::int64_t Poisson::by_inversion(std::uint64_t word) const {
  const auto u = uniform_value(word, 0.0, 1.0);
  int k = 0;
  double probability = none_;
  double sum = probability;
  while (u >= sum && probability > smallest_probability) {
    ++k;
    probability *= mean_ / k;
    sum += probability;
  }
  return k;
}

PoissonTable::PoissonTable(double mean) {
  double probability = portable_exp(-mean);
  double sum = probability;
  int k = 0;
  for (double& entry : sums_) {
    entry = probability > smallest_probability ? sum : 1.0;
    ++k;
    probability *= mean / k;
    sum += probability;
  }
}

std::int64_t PoissonTable::operator()(std::uint64_t word) const {
  const auto u = uniform_value(word, 0.0, 1.0);
  std::size_t k = 0;
  while (u >= sums_[k]) {
    ++k;
  }
  return static_cast<std::int64_t>(k);
}

/// W. Hörmann, "The transformed rejection method for generating Poisson random variables",
/// Insurance: Mathematics and Economics 12 (1993) 39: algorithm PTRS.
Poisson::Trial Poisson::attempt(std::uint64_t first, std::uint64_t second) const {
  const auto u = uniform_value(first, -0.5, 0.5);
  const auto v = uniform_value(second, 0.0, 1.0);
  const auto edge = 0.5 - std::abs(u);
  if (edge <= 0.0 || v <= 0.0) {
    return {0, false};
  }
  const auto k = std::floor((2.0 * a_ / edge + b_) * u + mean_ + 0.43);
  const bool is_inside = edge >= 0.07 && v <= squeeze_;
  const bool is_outside = k < 0.0 || (edge < 0.013 && v > edge);
  if (is_inside || (!is_outside && is_below(k, v, edge))) {
    return {static_cast<std::int64_t>(k), true};
  }
  return {0, false};
}

bool Poisson::is_below(double k, double v, double edge) const {
  return portable_log(v * inverse_alpha_ / (a_ / (edge * edge) + b_)) <= log_probability(k, mean_);
}

}  // namespace forkrun::random
