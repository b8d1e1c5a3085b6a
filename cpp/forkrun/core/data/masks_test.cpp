#include <forkrun/core/data/masks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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
