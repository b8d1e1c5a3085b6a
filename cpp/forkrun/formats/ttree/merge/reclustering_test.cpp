#include <forkrun/formats/ttree/merge/reclustering.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <Compression.h>

namespace forkrun::root_io {

namespace {

const Compression zstd{ROOT::RCompressionSetting::EAlgorithm::kZSTD, 5};
const Compression lzma{ROOT::RCompressionSetting::EAlgorithm::kLZMA, 5};

/// Of so many bytes each; 0: kept within the tree's own record.
std::vector<BasketPlace> baskets(std::vector<std::int64_t> sizes) {
  std::vector<BasketPlace> places;
  for (const auto size : sizes) {
    places.push_back({.seek = size == 0 ? 0 : 100, .n_bytes = size == 0 ? 5000 : size});
  }
  return places;
}

}  // namespace

TEST(Reclustering, JoinsWhereTheMeanIsSmall) {
  const Reclustering small{{zstd}};
  EXPECT_TRUE(small.joins(baskets({255})));
  EXPECT_FALSE(small.joins(baskets({256})));
  EXPECT_TRUE(small.joins(baskets({400, 100})));
  EXPECT_TRUE(small.joins(baskets({0, 0})));
}

TEST(Reclustering, JoinsWhatIsCompressedAnewUnlessItIsNotToBe) {
  EXPECT_TRUE((Reclustering{{zstd, true}}.joins(baskets({9000}))));
  EXPECT_FALSE((Reclustering{{zstd, true, Recluster::never}}.joins(baskets({9000}))));
  EXPECT_TRUE((Reclustering{{zstd, false, Recluster::always}}.joins(baskets({9000}))));
}

TEST(Reclustering, LeavesWhatLzmaCompressed) {
  EXPECT_FALSE(Reclustering{{lzma}}.joins(baskets({100})));
  EXPECT_TRUE((Reclustering{{lzma, false, Recluster::always}}.joins(baskets({100}))));
}

TEST(Reclustering, SaysWhatBecameOfBasketsAndWhy) {
  Reclustering some{{zstd}};
  EXPECT_EQ(some.text(), "");
  some.note({}, true);
  EXPECT_EQ(some.text(), "");
  some.note(baskets({100, 201}), true);
  some.note(baskets({1'500'000}), false);
  EXPECT_EQ(some.text(),
            "2 baskets of 1 file, 150 bytes each on average, were joined, as a third or more of "
            "such baskets is their headers; 1 basket of 1 file, 1,500,000 bytes, was copied one "
            "by one, as they are large enough");
}

TEST(Reclustering, SaysWhatCouldNotBeJoined) {
  Reclustering all{{zstd, false, Recluster::always}};
  all.note(baskets({900, 900}), false);
  EXPECT_EQ(all.text(),
            "2 baskets of 1 file, 900 bytes each on average, were copied one by one, as their "
            "entries cannot be moved");
}

}  // namespace forkrun::root_io
