#include <forkrun/core/run/unit_in_flight.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace forkrun {
namespace {

std::vector<std::uint32_t> numbers_below(std::uint32_t n) {
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void take_all(BlockDeal& deal, std::size_t lane, std::vector<std::uint32_t>& taken) {
  for (auto block = deal.next(lane); block != BlockDeal::no_block; block = deal.next(lane)) {
    taken.push_back(block);
  }
}

TEST(BlockDealTest, blocks_come_in_order_where_they_have_to) {
  BlockDeal deal{3, true};
  deal.begin(7);
  for (std::uint32_t expected = 0; expected < 7; ++expected) {
    EXPECT_EQ(deal.next(expected % 3), expected);
  }
  EXPECT_EQ(deal.next(0), BlockDeal::no_block);
}

TEST(BlockDealTest, one_lane_takes_what_others_do_not_take) {
  BlockDeal deal{3, false};
  deal.begin(100);
  std::vector<std::uint32_t> taken;
  take_all(deal, 1, taken);
  EXPECT_EQ(taken, numbers_below(100));
}

TEST(BlockDealTest, lanes_that_take_their_time_get_one_block_at_a_time) {
  BlockDeal deal{2, false};
  deal.begin(6);
  for (std::uint32_t expected = 0; expected < 6; ++expected) {
    EXPECT_EQ(deal.next(expected % 2), expected);
    std::this_thread::sleep_for(std::chrono::microseconds{30});
  }
}

TEST(BlockDealTest, fewer_blocks_than_lanes_are_all_dealt) {
  BlockDeal deal{8, false};
  deal.begin(1);
  EXPECT_EQ(deal.next(3), 0U);
  EXPECT_EQ(deal.next(0), BlockDeal::no_block);
  deal.begin(0);
  EXPECT_EQ(deal.next(0), BlockDeal::no_block);
}

TEST(BlockDealTest, lanes_on_threads_take_every_block_once) {
  constexpr std::size_t n_lanes = 4;
  constexpr std::uint32_t n_blocks = 20'000;
  BlockDeal deal{n_lanes, false};
  for (int round = 0; round < 20; ++round) {
    deal.begin(n_blocks);
    std::vector<std::vector<std::uint32_t>> taken(n_lanes);
    {
      std::vector<std::jthread> threads;
      for (std::size_t lane = 0; lane < n_lanes; ++lane) {
        threads.emplace_back([&, lane] { take_all(deal, lane, taken[lane]); });
      }
    }
    std::vector<std::uint32_t> all;
    for (const auto& of_lane : taken) {
      all.insert(all.end(), of_lane.begin(), of_lane.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(all, numbers_below(n_blocks));
  }
}

}  // namespace
}  // namespace forkrun
