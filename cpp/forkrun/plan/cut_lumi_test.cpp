#include <forkrun/plan/cut_lumi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace forkrun {
namespace {

/// Units of ten events where 1000 are left.
const UnitSizes sizes{
    {.last = 0, .n_units_left = 100, .slack = 1.25, .least = 2, .limit = 1'000'000}};

std::vector<std::array<std::int64_t, 4>> cut(std::vector<RangeToCut> ranges, std::int64_t n_left) {
  std::vector<Cut> cuts;
  cut_lumi(ranges, n_left, sizes, cuts);
  std::vector<std::array<std::int64_t, 4>> found;
  for (const auto& each : cuts) {
    found.push_back({each.range, each.part, each.first, each.last});
  }
  return found;
}

using Found = std::vector<std::array<std::int64_t, 4>>;

TEST(CutLumi, PartsAreEqualWhereThereIsNoCluster) {
  const std::vector<std::int64_t> clusters{0, 36};
  EXPECT_EQ(cut({{0, 36, clusters}}, 1000),
            (Found{{0, 0, 0, 9}, {0, 1, 9, 18}, {0, 2, 18, 27}, {0, 3, 27, 36}}));
}

TEST(CutLumi, PartsEndWithClustersThatAreNear) {
  const std::vector<std::int64_t> clusters{0, 11, 22, 36};
  const auto found = cut({{0, 36, clusters}}, 1000);
  ASSERT_GE(found.size(), 3U);
  EXPECT_EQ(found[0][3], 11);
  EXPECT_EQ(found[1][3], 22);
}

TEST(CutLumi, APartMayBeOfTwoRanges) {
  const std::vector<std::int64_t> clusters{0, 100};
  const auto found = cut({{0, 4, clusters}, {50, 54, clusters}, {60, 72, clusters}}, 1000);
  EXPECT_EQ(found[0], (std::array<std::int64_t, 4>{0, 0, 0, 4}));
  EXPECT_EQ(found[1], (std::array<std::int64_t, 4>{1, 0, 50, 54}));
}

TEST(CutLumi, NoEventIsLostOrTwice) {
  const std::vector<std::int64_t> clusters{0, 7, 100, 1000, 5000};
  for (std::int64_t n = 1; n < 3000; n = n * 5 / 4 + 1) {
    std::int64_t next = 0;
    for (const auto& [range, part, first, last] : cut({{0, n, clusters}}, 5000)) {
      EXPECT_EQ(first, next);
      EXPECT_LT(first, last);
      next = last;
    }
    EXPECT_EQ(next, n);
  }
}

TEST(CutLumi, NoPartExceedsTheLimit) {
  const UnitSizes small{{.last = 0, .n_units_left = 1, .slack = 1.25, .least = 2, .limit = 7}};
  const std::vector<std::int64_t> clusters{0, 50, 100};
  std::vector<Cut> cuts;
  const RangeToCut range{0, 100, clusters};
  cut_lumi({&range, 1}, 100, small, cuts);
  EXPECT_TRUE(std::ranges::all_of(cuts, [](const auto& c) { return c.last - c.first <= 7; }));
}

TEST(CutLumi, APartIsLargerThanWantedByTheSlackAtMost) {
  const UnitSizes tens{
      {.last = 268. / 32, .n_units_left = 3072, .slack = 1.25, .least = 10, .limit = 268}};
  for (std::int64_t cluster = 1; cluster <= 30; ++cluster) {
    std::vector<std::int64_t> clusters;
    for (std::int64_t begin = 0; begin < 268; begin += cluster) {
      clusters.push_back(begin);
    }
    clusters.push_back(268);
    std::vector<Cut> cuts;
    const RangeToCut range{0, 268, clusters};
    cut_lumi({&range, 1}, 268, tens, cuts);
    for (const auto& cut : cuts) {
      EXPECT_LE(cut.last - cut.first, 12) << "clusters of " << cluster;
    }
  }
}

}  // namespace
}  // namespace forkrun
