#include <forkrun/replay/busy_wait.hpp>

#include <time.h>

#include <algorithm>
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

namespace {

/// Without what other processes take of the CPU.
double cpu_time_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double measure_steps_per_s() {
  constexpr std::uint64_t n_steps = 500'000;
  double best_s = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start_s = cpu_time_s();
    integrate(n_steps);
    best_s = std::min(best_s, cpu_time_s() - start_s);
  }
  return static_cast<double>(n_steps) / best_s;
}

}  // namespace forkrun::replay
