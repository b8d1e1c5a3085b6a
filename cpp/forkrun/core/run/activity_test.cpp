#include <forkrun/core/run/activity.hpp>

#include <gtest/gtest.h>

#include <numeric>

namespace forkrun {
namespace {

constexpr std::int64_t length_ns = 1 << Activity::first_length_bits;
constexpr auto processing = static_cast<std::size_t>(Activity::Kind::processing);
constexpr auto reading = static_cast<std::size_t>(Activity::Kind::reading);

TEST(ActivityTest, time_is_put_into_the_pieces_in_which_it_was_spent) {
  Activity activity{1000};
  activity.add(Activity::Kind::processing, 1000 + length_ns / 2, 1000 + 2 * length_ns + 5);
  const auto pieces = activity.pieces(activity.length_bits());
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0][processing], length_ns / 2);
  EXPECT_EQ(pieces[1][processing], length_ns);
  EXPECT_EQ(pieces[2][processing], 5);
  EXPECT_EQ(pieces[1][reading], 0);
}

TEST(ActivityTest, what_is_done_within_something_else_counts_once) {
  Activity activity{0};
  activity.add(Activity::Kind::reading, 100, 300);
  activity.take_away(Activity::Kind::processing, 100, 300);
  activity.add(Activity::Kind::processing, 0, 1000);
  EXPECT_EQ(activity.pieces(activity.length_bits())[0], (Activity::Piece{200, 0, 800, 0}));
}

TEST(ActivityTest, pieces_grow_with_the_life_of_the_process_and_lose_nothing) {
  Activity activity{0};
  constexpr std::int64_t n = 100'000;
  for (std::int64_t i = 0; i < n; ++i) {
    activity.add(Activity::Kind::committing, i * length_ns + 10, i * length_ns + 17);
  }
  EXPECT_EQ(activity.length_bits(), Activity::first_length_bits + 7);
  const auto pieces = activity.pieces(activity.length_bits() + 1);
  EXPECT_EQ(pieces.size(), 391U);
  const auto sum = std::accumulate(
      pieces.begin(), pieces.end(), std::int64_t{0}, [](auto all, const auto& piece) {
        return all + piece[static_cast<std::size_t>(Activity::Kind::committing)];
      });
  EXPECT_EQ(sum, 7 * n);
  EXPECT_EQ(pieces[0][static_cast<std::size_t>(Activity::Kind::committing)], 7 * 256);
}

TEST(ActivityTest, what_ended_before_it_began_to_note_is_left_out) {
  Activity activity{1000};
  activity.add(Activity::Kind::reading, 0, 900);
  activity.add(Activity::Kind::reading, 900, 1010);
  EXPECT_EQ(activity.pieces(activity.length_bits())[0][reading], 10);
}

}  // namespace
}  // namespace forkrun
