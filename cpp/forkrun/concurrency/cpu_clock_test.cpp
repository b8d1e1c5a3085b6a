#include <forkrun/concurrency/cpu_clock.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace forkrun {
namespace {

/// Computes until the thread has used so much CPU time.
void use_cpu(std::int64_t time_ns) {
  const auto end_ns = thread_cpu_ns() + time_ns;
  while (thread_cpu_ns() < end_ns) {
  }
}

TEST(CpuClockTest, a_thread_that_waits_uses_none_of_what_another_one_uses) {
  constexpr std::int64_t time_ns = 20'000'000;
  const auto before_ns = thread_cpu_ns();
  const auto all_before_ns = process_cpu_ns();
  std::thread{[] { use_cpu(time_ns); }}.join();
  const auto all_ns = process_cpu_ns() - all_before_ns;
  EXPECT_GE(all_ns, time_ns);
  EXPECT_LE(thread_cpu_ns() - before_ns, all_ns - time_ns);
}

}  // namespace
}  // namespace forkrun
