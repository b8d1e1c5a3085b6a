#include <forkrun/concurrency/bell.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace forkrun {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(BellTest, rings_before_somebody_waits_are_counted) {
  Bell bell;
  bell.ring();
  bell.ring();
  bell.wait();
  bell.wait();
  const auto start = Clock::now();
  bell.wait_for(2ms);
  EXPECT_GE(Clock::now() - start, 2ms);
}

TEST(BellTest, who_is_rung_does_not_wait_longer) {
  Bell bell;
  bell.ring();
  const auto start = Clock::now();
  bell.wait_for(1h);
  EXPECT_LT(Clock::now() - start, 1h);
}

TEST(BellTest, no_ring_is_lost_when_threads_race) {
  Bell here;
  Bell there;
  int n_rounds = 0;
  std::jthread other{[&] {
    for (int i = 0; i < 1'000; ++i) {
      there.wait();
      ++n_rounds;
      here.ring();
    }
  }};
  for (int i = 1; i <= 1'000; ++i) {
    there.ring();
    here.wait();
    ASSERT_EQ(n_rounds, i);
  }
}

}  // namespace
}  // namespace forkrun
