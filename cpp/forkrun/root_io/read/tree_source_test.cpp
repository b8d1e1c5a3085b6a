#include <forkrun/root_io/read/tree_source.hpp>

#include <gtest/gtest.h>

namespace forkrun::root_io {

namespace {

using Cut = std::vector<std::pair<std::int64_t, std::int64_t>>;

Cut cut(std::int64_t first, std::int64_t last, const std::vector<std::int64_t>& clusters,
        std::int64_t block_size) {
  Cut ranges;
  for (const auto& block : cut_into_blocks({3, first, last}, clusters, block_size)) {
    EXPECT_EQ(block.file, 3U);
    ranges.emplace_back(block.first, block.last);
  }
  return ranges;
}

}  // namespace

TEST(Blocks, EndAtTheLastClusterBoundaryThatFits) {
  EXPECT_EQ(cut(0, 100, {0, 30, 60, 90, 100}, 70), (Cut{{0, 60}, {60, 100}}));
}

TEST(Blocks, CutALargeClusterIntoEqualParts) {
  EXPECT_EQ(cut(0, 100, {0, 100}, 40), (Cut{{0, 33}, {33, 66}, {66, 100}}));
}

TEST(Blocks, BeginWithinACluster) {
  EXPECT_EQ(cut(50, 130, {0, 100, 200}, 60), (Cut{{50, 100}, {100, 130}}));
}

TEST(Blocks, OfOneEvent) {
  EXPECT_EQ(cut(8, 11, {0, 10, 20}, 1), (Cut{{8, 9}, {9, 10}, {10, 11}}));
}

TEST(Blocks, OfNothingAreNone) { EXPECT_EQ(cut(5, 5, {0, 10}, 4), Cut{}); }

TEST(Blocks, CoverEveryEntryOnceAndAreNeverTooLarge) {
  const std::vector<std::int64_t> clusters{0, 7, 8, 30, 100, 101, 250};
  for (std::int64_t first = 0; first < 250; first += 13) {
    for (std::int64_t last = first; last <= 250; last += 17) {
      for (const std::int64_t block_size : {1, 2, 7, 50, 1000}) {
        auto next = first;
        for (const auto& [begin, end] : cut(first, last, clusters, block_size)) {
          EXPECT_EQ(begin, next);
          EXPECT_GT(end, begin);
          EXPECT_LE(end - begin, block_size);
          next = end;
        }
        EXPECT_EQ(next, last);
      }
    }
  }
}

}  // namespace forkrun::root_io
