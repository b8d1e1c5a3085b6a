#include <forkrun/core/module/accumulators.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

AccumulatedNumber number_of(const Accumulator& accumulator) {
  return std::get<AccumulatedNumber>(accumulator.value());
}

TEST(AccumulatorsTest, whole_numbers_are_counted_and_cleared) {
  CountSum sum{"n"};
  sum.add();
  sum.add(41);
  EXPECT_EQ(number_of(sum).whole, 42);
  EXPECT_FALSE(number_of(sum).is_float);
  sum.clear();
  EXPECT_EQ(number_of(sum).whole, 0);
}

TEST(AccumulatorsTest, a_count_that_does_not_fit_is_an_error) {
  CountSum sum{"n"};
  sum.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(sum.add(), Error);
}

TEST(AccumulatorsTest, parts_of_a_sum_add_up_to_it_without_rounding) {
  ExactSum sum{"w"};
  for (const double value : {1e100, 1.0, 1e-100, -1e100}) {
    sum.add(value);
  }
  EXPECT_EQ(number_of(sum).parts, (std::vector<double>{1.0, 1e-100}));
  EXPECT_TRUE(number_of(sum).is_float);
}

TEST(AccumulatorsTest, a_sum_of_nothing_is_a_floating_point_number) {
  EXPECT_TRUE(number_of(ExactSum{"w"}).is_float);
  EXPECT_TRUE(number_of(ExactSum{"w"}).parts.empty());
}

TEST(AccumulatorsTest, what_is_not_finite_is_kept) {
  ExactSum sum{"w"};
  sum.add(1.0);
  sum.add(std::numeric_limits<double>::infinity());
  EXPECT_EQ(number_of(sum).parts, (std::vector{std::numeric_limits<double>::infinity()}));
}

TEST(AccumulatorsTest, threads_add_to_one_sum) {
  ExactSum sum{"w"};
  std::vector<std::thread> threads;
  const std::vector<float> values(1000, 0.1F);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { sum.add(std::span{values}); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  const auto parts = number_of(sum).parts;
  EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0.0), 4000 * double{0.1F});
}

TEST(AccumulatorsTest, a_table_has_sums_by_name) {
  SumTable table{"t"};
  table.add("b", 1);
  table.add("a", 0.5);
  table.add("b", 2U);
  const auto sums = std::get<AccumulatedTable>(table.value());
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums.at("a").parts, (std::vector{0.5}));
  EXPECT_EQ(sums.at("b").whole, 3);
}

TEST(AccumulatorsTest, a_list_keeps_order_and_refuses_what_is_not_finite) {
  ValueList list{"l"};
  list.add(std::int64_t{3});
  list.add("text");
  list.add(0.5);
  EXPECT_THROW(list.add(std::numeric_limits<double>::quiet_NaN()), Error);
  EXPECT_EQ(std::get<std::vector<ListedValue>>(list.value()),
            (std::vector<ListedValue>{std::int64_t{3}, std::string{"text"}, 0.5}));
}

}  // namespace
}  // namespace forkrun
