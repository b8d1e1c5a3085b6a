#include <forkrun/replay/busy_wait.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <forkrun/concurrency/cpu_clock.hpp>

namespace forkrun::replay {
namespace {

/// A core whose clock goes on by its steps alone, and by what it costs to look at it.
struct Core {
  double ns_per_step;
  double ns_per_look = 300;
  double now_ns = 5e9;
  int n_looks = 0;

  void wait(double time_s) {
    compute_until_over(
        time_s,
        [this] {
          ++n_looks;
          now_ns += ns_per_look;
          return static_cast<std::int64_t>(now_ns);
        },
        [this](std::uint64_t n_steps) { now_ns += ns_per_step * static_cast<double>(n_steps); });
  }
};

TEST(BusyWaitTest, ends_in_time_whatever_the_speed_of_the_core) {
  for (const double ns_per_step : {0.2, 1.0, 4.0, 15.0}) {
    for (const double time_s : {1e-6, 74e-6, 0.001, 2.5}) {
      Core core{ns_per_step};
      const auto start_ns = core.now_ns;
      core.wait(time_s);
      const auto taken_ns = core.now_ns - start_ns;
      EXPECT_GE(taken_ns, time_s * 1e9) << ns_per_step << " ns a step, " << time_s << " s";
      EXPECT_LE(taken_ns, time_s * 1e9 + 64 * ns_per_step + 2 * core.ns_per_look)
          << ns_per_step << " ns a step, " << time_s << " s";
      EXPECT_LE(core.n_looks, 40) << ns_per_step << " ns a step, " << time_s << " s";
    }
  }
}

/// As when the other hyper-thread of its core begins or ends something.
TEST(BusyWaitTest, ends_in_time_when_the_core_changes_its_speed) {
  for (const double factor : {0.5, 0.6, 1.5, 2.0}) {
    Core core{2.0};
    double gone_ns = 0;
    const auto start_ns = core.now_ns;
    compute_until_over(
        0.01, [&] { return static_cast<std::int64_t>(core.now_ns); },
        [&](std::uint64_t n_steps) {
          core.now_ns += core.ns_per_step * static_cast<double>(n_steps);
          gone_ns = core.now_ns - start_ns;
          core.ns_per_step = gone_ns > 3e6 ? 2.0 * factor : 2.0;
        });
    EXPECT_GE(gone_ns, 10e6) << factor;
    EXPECT_LE(gone_ns, 10e6 + 2 * 64 * 2.0 * factor) << factor;
  }
}

TEST(BusyWaitTest, no_time_is_no_step) {
  Core core{1.0, 0};
  core.wait(0);
  EXPECT_EQ(core.now_ns, 5e9);
}

TEST(BusyWaitTest, uses_the_cpu_time_of_its_thread) {
  const auto start_ns = thread_cpu_ns();
  wait_busily(0.005);
  EXPECT_GE(thread_cpu_ns() - start_ns, 5'000'000);
}

}  // namespace
}  // namespace forkrun::replay
