#include <forkrun/bytes/remote/stretches.hpp>

#include <gtest/gtest.h>

namespace forkrun {

namespace {

class StretchesTest : public testing::Test {
 protected:
  /// Pieces of 1,000 bytes each, one after the other in memory.
  std::vector<Stretch> of(std::initializer_list<std::int64_t> places) {
    std::vector<RemotePiece> pieces;
    std::span<std::byte> left{memory};
    for (const auto place : places) {
      pieces.push_back({place, left.first(1000)});
      left = left.subspan(1000);
    }
    return stretches_of(pieces, widest_gap(pieces));
  }

  std::vector<std::byte> memory = std::vector<std::byte>(20'000);
};

TEST_F(StretchesTest, NeighboursAreOneInMemoryAsWell) {
  const auto found = of({5000, 6000, 7000, 90'000});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].place, 5000);
  EXPECT_EQ(found[0].n_bytes(), 3000U);
  EXPECT_TRUE(found[0].is_whole());
}

TEST_F(StretchesTest, TheNarrowestGapsAreReadUpToAnEighthOfThePieces) {
  const auto found = of({0, 1100, 2300, 4300, 10'000, 11'050, 30'000, 40'000});
  ASSERT_EQ(found.size(), 5U);  // gaps of 50, 100 and 200 of at most 1,000 bytes; not that of 1,000
  EXPECT_EQ(found[0].n_bytes(), 3300U);
  EXPECT_FALSE(found[0].is_whole());
  EXPECT_EQ(found[0].pieces.size(), 3U);
  EXPECT_EQ(found[2].n_bytes(), 2050U);
}

TEST_F(StretchesTest, ManyGapsOfOneWidthAreNotRead) {
  EXPECT_EQ(of({0, 1900, 3800, 5700, 7600}).size(), 5U);
  EXPECT_EQ(of({0, 1100, 2200, 3300, 4400}).size(), 1U);
}

}  // namespace
}  // namespace forkrun
