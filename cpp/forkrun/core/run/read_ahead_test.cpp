#include <forkrun/core/run/read_ahead.hpp>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/testing/memory_source.hpp>

namespace forkrun {
namespace {

constexpr std::size_t x = 0, y = 1;

class ReadAheadTest : public ::testing::Test {
 protected:
  /// That the columns of entries [first, last) are right: of "y" if it `wants_y`.
  void expect_block(std::int64_t first, std::int64_t last, bool wants_y = true) {
    const auto events = load(first, last);
    ASSERT_EQ(events.size(), static_cast<std::size_t>(last - first));
    EXPECT_EQ(events.front(), testing::event_at(first));
    for (const auto column : {x, y}) {
      if (column == x || wants_y) {
        lane.read(column, values);
        const auto read = values.values<std::int64_t>();
        ASSERT_EQ(read.size(), events.size());
        EXPECT_EQ(read.back(), static_cast<std::int64_t>(events.back()) * (column == x ? 3 : 1));
      }
    }
  }
  std::span<const std::uint64_t> load(std::int64_t first, std::int64_t last) {
    return lane.load(std::array{EntryRange{0, first, last}}, LumiId{1, 1});
  }
  void expect_next(std::int64_t first, std::int64_t last) {
    lane.expect(std::array{EntryRange{0, first, last}}, LumiId{1, 1});
  }
  /// That the thread has read a column so many times, before long.
  void wait_for_reads(std::size_t column, int n) {
    for (int i = 0; i < 10'000 && source.control.n_reads[column] < n; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(source.control.n_reads[column], n);
  }

  testing::MemorySource source;
  ReadAheadLane lane{source};
  Column values{ColumnType::parse("int64")};
};

TEST_F(ReadAheadTest, what_is_expected_is_read_before_it_is_asked_for_and_once) {
  expect_block(0, 10);
  expect_block(10, 20);  // From here on the columns that are asked for are known.
  expect_next(20, 30);
  wait_for_reads(x, 3);
  wait_for_reads(y, 3);
  EXPECT_EQ(source.control.n_loads, 3);
  expect_block(20, 30);
  expect_next(30, 40);
  expect_block(30, 40);
  EXPECT_EQ(source.control.n_loads, 4);
  EXPECT_EQ(source.control.n_reads[x], 4);
  EXPECT_EQ(source.control.n_reads[y], 4);
}

TEST_F(ReadAheadTest, another_block_than_the_expected_may_come) {
  expect_block(0, 10);
  expect_block(10, 20);
  expect_next(20, 30);
  wait_for_reads(x, 3);
  expect_block(50, 55);
  expect_next(20, 30);
  expect_block(20, 30);
}

TEST_F(ReadAheadTest, a_column_that_was_not_asked_for_last_is_not_read) {
  expect_block(0, 10);
  expect_block(10, 20, false);
  expect_block(20, 30, false);
  expect_next(30, 40);
  wait_for_reads(x, 4);
  expect_block(30, 40, false);
  EXPECT_EQ(source.control.n_reads[y], 1);
  expect_block(40, 50);  // It is, when it is asked for.
}

TEST_F(ReadAheadTest, a_failure_is_thrown_where_the_column_is_asked_for) {
  source.control.x_fails_at = testing::event_at(25);
  expect_block(0, 10);
  expect_block(10, 20);
  expect_next(20, 30);
  wait_for_reads(y, 3);
  EXPECT_EQ(load(20, 30).size(), 10U);
  EXPECT_THROW(lane.read(x, values), InputError);
  lane.read(y, values);
  EXPECT_EQ(values.values<std::int64_t>().size(), 10U);
}

TEST_F(ReadAheadTest, a_block_that_cannot_be_loaded_fails_when_it_is_loaded) {
  source.control.load_fails_at = testing::event_at(25);
  expect_block(0, 10);
  expect_next(20, 30);
  EXPECT_THROW(load(20, 30), InputError);
  expect_block(30, 40);
}

TEST_F(ReadAheadTest, statistics_are_of_both_that_take_turns) {
  for (std::int64_t i = 0; i < 5; ++i) {
    expect_block(10 * i, 10 * i + 10);
    expect_next(10 * i + 10, 10 * i + 20);
  }
  EXPECT_GE(lane.statistics().read_calls, 5);
  EXPECT_LE(lane.statistics().read_calls, 6);
}

TEST_F(ReadAheadTest, a_block_that_is_expected_at_the_end_is_no_hindrance) {
  expect_block(0, 10);
  expect_next(10, 20);
}

}  // namespace
}  // namespace forkrun
