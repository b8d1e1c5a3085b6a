#include <forkrun/replay/busy_wait.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <forkrun/concurrency/cpu_clock.hpp>

namespace forkrun::replay {

void integrate(std::uint64_t n_steps) {
  const double width = 3.0 / static_cast<double>(n_steps + 1);
  double sum = 0;
  for (std::uint64_t step = 0; step < n_steps; ++step) {
    const double x = (static_cast<double>(step) + 0.5) * width;
    sum += std::sqrt(x * x + 1) * width;
  }
  asm volatile("" : : "x"(sum));  // Hides from the compiler that it is unused.
}

void wait_busily(double time_s) { compute_until_over(time_s, thread_cpu_ns, integrate); }

double measure_steps_per_s() {
  constexpr std::uint64_t n_steps = 500'000;
  auto best_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 20; ++i) {
    const auto start_ns = thread_cpu_ns();
    integrate(n_steps);
    best_ns = std::min(best_ns, thread_cpu_ns() - start_ns);
  }
  return 1e9 * static_cast<double>(n_steps) / static_cast<double>(best_ns);
}

}  // namespace forkrun::replay
