#pragma once

#include <algorithm>
#include <cstdint>

namespace forkrun::replay {

/// Keeps a core busy with the numeric integration of a function, in steps of some nanoseconds that
/// depend on each other.
void integrate(std::uint64_t n_steps);

/// Integrates until the thread's CPU clock has advanced by `time_s`: independent of other work on
/// the machine and of the core's speed, which changes with its clock and its other hyper-thread.
void wait_busily(double time_s);

/// Steps per second on this machine, for a fixed amount of work: the best of some tries of some
/// milliseconds.
[[nodiscard]] double measure_steps_per_s();

/// `wait_busily` with a clock [ns] and the work that advances it. Looks at the clock each time half
/// of the rest should be over, at the speed so far: that costs little, and meets the end to a
/// microsecond.
template <typename Clock, typename Compute>
void compute_until_over(double time_s, const Clock& now_ns, const Compute& compute) {
  constexpr std::uint64_t n_first = 64;  // steps: less than a microsecond
  const auto start_ns = now_ns();
  const auto wanted_ns = static_cast<std::int64_t>(time_s * 1e9);
  std::uint64_t n_done = 0;
  for (std::int64_t gone_ns = 0; gone_ns < wanted_ns; gone_ns = now_ns() - start_ns) {
    const auto left = static_cast<double>(wanted_ns - gone_ns);
    const auto steps_per_ns =
        static_cast<double>(n_done) / static_cast<double>(std::max<std::int64_t>(gone_ns, 1));
    const auto n_steps = std::max(n_first, static_cast<std::uint64_t>(left * steps_per_ns / 2));
    compute(n_steps);
    n_done += n_steps;
  }
}

}  // namespace forkrun::replay
