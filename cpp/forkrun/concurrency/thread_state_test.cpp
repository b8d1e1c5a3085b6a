#include <forkrun/concurrency/thread_state.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <forkrun/concurrency/bell.hpp>

namespace forkrun {
namespace {

TEST(ThreadStateTest, a_thread_that_waits_is_asleep_and_one_that_computes_is_not) {
  EXPECT_FALSE(is_asleep(::gettid()));
  Bell bell;
  std::atomic<pid_t> thread{};
  std::jthread waiting{[&] {
    thread = ::gettid();
    bell.wait();
  }};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while ((thread == 0 || !is_asleep(thread)) && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_TRUE(is_asleep(thread));
  bell.ring();
}

TEST(ThreadStateTest, a_thread_that_is_not_there_counts_as_asleep) { EXPECT_TRUE(is_asleep(-1)); }

}  // namespace
}  // namespace forkrun
