#include <forkrun/core/data/cut_into_blocks.hpp>

#include <gtest/gtest.h>

namespace forkrun {

namespace {

using Cut = std::vector<std::pair<std::int64_t, std::int64_t>>;

Cut cut(std::int64_t first, std::int64_t last, const std::vector<std::int64_t>& clusters,
        std::int64_t block_size, std::int64_t most_of_cluster = 0) {
  Cut ranges;
  const BlockSize size{block_size, most_of_cluster};
  for (const auto& block : cut_into_blocks({3, first, last}, clusters, size)) {
    EXPECT_EQ(block.file, 3U);
    ranges.emplace_back(block.first, block.last);
  }
  return ranges;
}

using Clusters = std::vector<std::vector<std::int64_t>>;

/// Ranges of each block.
std::vector<std::vector<EntryRange>> joined(const std::vector<EntryRange>& ranges,
                                            const Clusters& clusters, std::int64_t block_size) {
  BlockList blocks;
  join_into_blocks(ranges, clusters, {block_size, 0}, blocks);
  std::vector<std::vector<EntryRange>> found;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    found.emplace_back(blocks[block].begin(), blocks[block].end());
  }
  return found;
}

}  // namespace

TEST(Blocks, GoOnOverTheEndsOfFiles) {
  const Clusters clusters(3, {0, 30});
  EXPECT_EQ(joined({{0, 0, 30}, {1, 0, 30}, {2, 0, 30}}, clusters, 70),
            (std::vector<std::vector<EntryRange>>{{{0, 0, 30}, {1, 0, 30}}, {{2, 0, 30}}}));
}

TEST(Blocks, AreCutWhereARangeIsLarger) {
  const Clusters clusters(2, {0, 60, 100});
  EXPECT_EQ(joined({{0, 0, 100}, {1, 90, 100}, {1, 0, 5}}, clusters, 60),
            (std::vector<std::vector<EntryRange>>{{{0, 0, 60}},
                                                  {{0, 60, 100}, {1, 90, 100}, {1, 0, 5}}}));
}

TEST(Blocks, AreOfAFewFiles) {
  std::vector<EntryRange> ranges;
  for (std::uint32_t file = 0; file < 100; ++file) {
    ranges.push_back({file, 0, 1});
  }
  const auto found = joined(ranges, Clusters(100, {0, 1}), 1000);
  EXPECT_EQ(found.size(), 7U);
  EXPECT_EQ(found.front().size(), 16U);
}

TEST(Blocks, EndAtTheLastClusterBoundaryThatFits) {
  EXPECT_EQ(cut(0, 100, {0, 30, 60, 90, 100}, 70), (Cut{{0, 60}, {60, 100}}));
}

TEST(Blocks, CutALargeClusterIntoEqualParts) {
  EXPECT_EQ(cut(0, 100, {0, 100}, 40), (Cut{{0, 33}, {33, 66}, {66, 100}}));
}

TEST(Blocks, LeaveAClusterWholeThatIsNotTooLargeForThat) {
  EXPECT_EQ(cut(0, 250, {0, 100, 250}, 40, 100), (Cut{{0, 100}, {100, 175}, {175, 250}}));
  EXPECT_EQ(cut(10, 90, {0, 100}, 40, 100), (Cut{{10, 90}}));
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

}  // namespace forkrun
