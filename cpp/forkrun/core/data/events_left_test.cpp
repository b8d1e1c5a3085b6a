#include <forkrun/core/data/events_left.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace forkrun::testing {
namespace {

using Offsets = std::vector<std::int64_t>;

template <typename T>
Column column_of(const char* type, const std::vector<Offsets>& levels,
                 const std::vector<T>& values) {
  Column column{ColumnType::parse(type)};
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::ranges::copy(levels[level],
                      column.resize_offsets(levels[level].size() - 1, level).begin());
  }
  std::ranges::copy(values, reinterpret_cast<T*>(column.resize_values(values.size())));
  return column;
}

template <typename T>
std::vector<T> values_of(const Column& column) {
  const auto values = column.values<T>();
  return {values.begin(), values.end()};
}

Offsets offsets_of(const Column& column, std::size_t level = 0) {
  const auto offsets = column.offsets(level);
  return {offsets.begin(), offsets.end()};
}

const std::vector<std::uint8_t> mask{0, 1, 1, 0, 1};

TEST(EventsLeftTest, one_value_per_event) {
  const auto left = events_left(column_of<int>("int32", {}, {1, 2, 3, 4, 5}), mask);
  EXPECT_EQ(left.n_events(), 3);
  EXPECT_EQ(values_of<int>(left), (std::vector{2, 3, 5}));
}

TEST(EventsLeftTest, arrays_of_fixed_size) {
  const auto left =
      events_left(column_of<int>("int32[2]", {}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5}), mask);
  EXPECT_EQ(left.n_events(), 3);
  EXPECT_EQ(values_of<int>(left), (std::vector{2, 2, 3, 3, 5, 5}));
}

TEST(EventsLeftTest, lists) {
  const auto left =
      events_left(column_of<float>("float32[]", {{0, 1, 1, 3, 4, 6}}, {1, 2, 3, 4, 5, 6}), mask);
  EXPECT_EQ(offsets_of(left), (Offsets{0, 0, 2, 4}));
  EXPECT_EQ(values_of<float>(left), (std::vector<float>{2, 3, 5, 6}));
}

TEST(EventsLeftTest, lists_of_lists) {
  const auto left = events_left(
      column_of<int>("int32[][]", {{0, 1, 3, 3, 4, 5}, {0, 2, 2, 3, 4, 6}}, {1, 2, 3, 4, 5, 6}),
      mask);
  EXPECT_EQ(offsets_of(left), (Offsets{0, 2, 2, 3}));
  EXPECT_EQ(offsets_of(left, 1), (Offsets{0, 0, 1, 3}));
  EXPECT_EQ(values_of<int>(left), (std::vector{3, 5, 6}));
}

TEST(EventsLeftTest, no_events) {
  const auto left = events_left(column_of<float>("float32[]", {{0, 1, 2}}, {1, 2}),
                                std::vector<std::uint8_t>{0, 0});
  EXPECT_EQ(left.n_events(), 0);
  EXPECT_EQ(offsets_of(left), (Offsets{0}));
}

}  // namespace
}  // namespace forkrun::testing
