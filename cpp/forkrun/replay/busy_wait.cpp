#include <forkrun/replay/busy_wait.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace forkrun::replay {

void integrate(std::uint64_t n_steps) {
  const double width = 3.0 / static_cast<double>(n_steps + 1);
  double sum = 0;
  for (std::uint64_t step = 0; step < n_steps; ++step) {
    const double x = (static_cast<double>(step) + 0.5) * width;
    sum += std::sqrt(x * x + 1) * width;
  }
  asm volatile("" : : "x"(sum));  // The compiler must not see that nobody uses it.
}

double measure_steps_per_s() {
  constexpr std::uint64_t n_steps = 2'000'000;
  double best_s = 1e9;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    integrate(n_steps);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, taken.count());
  }
  return static_cast<double>(n_steps) / best_s;
}

}  // namespace forkrun::replay
