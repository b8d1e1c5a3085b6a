#include <forkrun/core/data/masks.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace forkrun {

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const Masks& masks, std::size_t mask) {
  return {masks[mask].begin(), masks[mask].end()};
}

void set(const Masks& masks, std::size_t mask, const Bytes& bytes) {
  std::ranges::copy(bytes, masks[mask].begin());
}

TEST(MasksTest, mask_0_accepts_all_events_whatever_their_number) {
  Masks masks{2};
  for (const std::size_t n : {1U, 100U, 3U, 64U, 1000U, 0U, 9U}) {
    masks.resize(n);
    EXPECT_EQ(bytes_of(masks, 0), Bytes(n, 1));
  }
}

TEST(MasksTest, normalised_mask_has_zeros_and_ones) {
  Masks masks{2};
  masks.resize(11);
  set(masks, 1, {0, 1, 2, 127, 128, 129, 254, 255, 0, 64, 0});
  masks.normalise(1);
  EXPECT_TRUE(masks.any(1));
  EXPECT_EQ(bytes_of(masks, 1), (Bytes{0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0}));
  masks.accept_none(1);
  EXPECT_FALSE(masks.any(1));
}

TEST(MasksTest, what_a_larger_block_left_behind_the_last_event_counts_for_nothing) {
  Masks masks{2};
  masks.resize(8);
  masks.accept_all(1);
  masks.resize(3);
  set(masks, 1, {0, 0, 0});
  EXPECT_FALSE(masks.any(1));
}

TEST(MasksTest, both_and_either) {
  Masks masks{4};
  masks.resize(4);
  set(masks, 1, {0, 0, 1, 1});
  set(masks, 2, {0, 1, 0, 1});
  EXPECT_TRUE(masks.set_both(3, 1, 2));
  EXPECT_EQ(bytes_of(masks, 3), (Bytes{0, 0, 0, 1}));
  masks.add(1, 2);
  EXPECT_EQ(bytes_of(masks, 1), (Bytes{0, 1, 1, 1}));
  set(masks, 2, {0, 1, 0, 0});
  set(masks, 1, {1, 0, 1, 0});
  EXPECT_FALSE(masks.set_both(3, 1, 2));
}

}  // namespace

}  // namespace forkrun

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

TEST(RunsOfTest, runs_are_where_the_mask_is_1) {
  std::mt19937 random{1};
  for (const auto share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    for (std::size_t n = 0; n < 200; ++n) {
      std::bernoulli_distribution is_left{share};
      std::vector<std::uint8_t> mask(n);
      std::ranges::generate(mask, [&] { return static_cast<std::uint8_t>(is_left(random)); });
      std::vector<std::uint8_t> from_runs(n);
      std::int64_t end = -1;
      for (const auto& [first, last] : runs_of(mask)) {
        EXPECT_LT(end, first);
        EXPECT_LT(first, last);
        std::fill(from_runs.begin() + first, from_runs.begin() + last, std::uint8_t{1});
        end = last;
      }
      EXPECT_EQ(from_runs, mask);
    }
  }
}

const std::vector<std::uint8_t> mask{0, 1, 1, 0, 1};

TEST(EventsLeftTest, one_value_per_event) {
  const auto left = EventsLeft{mask}.gather(column_of<int>("int32", {}, {1, 2, 3, 4, 5}));
  EXPECT_EQ(left.n_events(), 3);
  EXPECT_EQ(values_of<int>(left), (std::vector{2, 3, 5}));
}

TEST(EventsLeftTest, arrays_of_fixed_size) {
  const auto left =
      EventsLeft{mask}.gather(column_of<int>("int32[2]", {}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(left.n_events(), 3);
  EXPECT_EQ(values_of<int>(left), (std::vector{2, 2, 3, 3, 5, 5}));
}

TEST(EventsLeftTest, lists) {
  const auto left = EventsLeft{mask}.gather(
      column_of<float>("float32[]", {{0, 1, 1, 3, 4, 6}}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(offsets_of(left), (Offsets{0, 0, 2, 4}));
  EXPECT_EQ(values_of<float>(left), (std::vector<float>{2, 3, 5, 6}));
}

TEST(EventsLeftTest, lists_of_lists) {
  const auto left = EventsLeft{mask}.gather(
      column_of<int>("int32[][]", {{0, 1, 3, 3, 4, 5}, {0, 2, 2, 3, 4, 6}}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(offsets_of(left), (Offsets{0, 2, 2, 3}));
  EXPECT_EQ(offsets_of(left, 1), (Offsets{0, 0, 1, 3}));
  EXPECT_EQ(values_of<int>(left), (std::vector{3, 5, 6}));
}

TEST(EventsLeftTest, columns_with_equal_lists_share_them) {
  EventsLeft left{mask};
  const auto pt = column_of<float>("float32[]", {{0, 1, 1, 3, 4, 6}}, {1, 2, 3, 4, 5, 6});
  const auto charge = column_of<int>("int32[]", {{0, 1, 1, 3, 4, 6}}, {6, 5, 4, 3, 2, 1});
  const auto other = column_of<int>("int32[]", {{0, 1, 1, 2, 4, 6}}, {6, 5, 4, 3, 2, 1});
  const auto left_pt = left.gather(pt);
  const auto left_charge = left.gather(charge);
  EXPECT_EQ(left_charge.offsets_buffer(), left_pt.offsets_buffer());
  EXPECT_EQ(left_charge.n_events(), 3);
  EXPECT_EQ(values_of<int>(left_charge), (std::vector{5, 4, 2, 1}));
  EXPECT_EQ(offsets_of(left.gather(other)), (Offsets{0, 0, 1, 3}));
}

TEST(EventsLeftTest, no_events) {
  const auto left = EventsLeft{std::vector<std::uint8_t>{0, 0}}.gather(
      column_of<float>("float32[]", {{0, 1, 2}}, {1, 2}));
  EXPECT_EQ(left.n_events(), 0);
  EXPECT_EQ(offsets_of(left), (Offsets{0}));
}

}  // namespace

}  // namespace forkrun::testing
