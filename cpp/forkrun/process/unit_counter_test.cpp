#include <forkrun/process/unit_counter.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

namespace forkrun {
namespace {

std::vector<std::uint64_t> take_all(UnitCounter& counter, std::uint32_t child) {
  std::vector<std::uint64_t> taken;
  while (const auto number = counter.take(child)) {
    taken.push_back(*number);
  }
  return taken;
}

TEST(UnitCounterTest, numbers_come_in_order_until_the_end) {
  UnitCounter counter{3};
  EXPECT_EQ(take_all(counter, 5), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(counter.take(5), std::nullopt);
  EXPECT_EQ(counter.n_taken(), 3U);
  EXPECT_EQ(counter.taken_by(5), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_TRUE(counter.taken_by(0).empty());
}

TEST(UnitCounterTest, none_is_handed_out_beyond_an_earlier_end) {
  UnitCounter counter{10};
  EXPECT_EQ(counter.take(0), 0U);
  counter.end_at(2);
  EXPECT_EQ(take_all(counter, 1), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(counter.n_taken(), 2U);
}

TEST(UnitCounterTest, counter_of_nothing_gives_nothing) {
  UnitCounter counter{0};
  EXPECT_EQ(counter.take(0), std::nullopt);
}

TEST(UnitCounterTest, several_are_taken_from_the_next_one_on) {
  UnitCounter counter{10};
  EXPECT_EQ(counter.take(0, 0, 3), 3U);
  EXPECT_EQ(counter.take(1, 2, 3), 0U) << "number 2 is taken already";
  EXPECT_EQ(counter.take(1, 4, 3), 0U) << "number 3 comes first";
  EXPECT_EQ(counter.take(1, 3, 100), 7U);
  EXPECT_EQ(counter.take(1, 10, 1), 0U);
  EXPECT_EQ(counter.taken_by(0), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(counter.n_taken(), 10U);
}

TEST(UnitCounterTest, forked_children_take_every_number_once) {
  constexpr std::size_t n = 20'000;
  constexpr std::uint32_t n_children = 4;
  UnitCounter counter{n};
  for (std::uint32_t child = 0; child < n_children; ++child) {
    if (::fork() == 0) {
      (void)take_all(counter, child);
      ::_exit(0);
    }
  }
  while (::wait(nullptr) > 0) {
  }
  std::vector<std::uint64_t> all;
  for (std::uint32_t child = 0; child < n_children; ++child) {
    const auto taken = counter.taken_by(child);
    all.insert(all.end(), taken.begin(), taken.end());
  }
  std::ranges::sort(all);
  std::vector<std::uint64_t> expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace forkrun
