#include <forkrun/formats/source/reading_order.hpp>

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace forkrun::root_io {

namespace {

using FileEntry = std::pair<std::uint32_t, std::int64_t>;

std::vector<FileEntry> entries_of(EntryRanges ranges) {
  std::vector<FileEntry> entries;
  for (const auto& [file, first, last] : ranges) {
    for (auto entry = first; entry < last; ++entry) {
      entries.emplace_back(file, entry);
    }
  }
  return entries;
}

/// Reads the pieces, then takes the block from them.
std::vector<FileEntry> read_block(const ReadingOrder& order) {
  const auto read = entries_of(order.pieces());
  std::vector<FileEntry> block;
  for (const auto& [first, last] : order.slices()) {
    block.insert(block.end(), read.begin() + static_cast<std::ptrdiff_t>(first),
                 read.begin() + static_cast<std::ptrdiff_t>(last));
  }
  return block;
}

}  // namespace

TEST(ReadingOrder, OneRangeIsOnePiece) {
  const std::vector<EntryRange> block{{2, 10, 20}};
  const ReadingOrder order{block};
  EXPECT_TRUE(order.is_block());
  EXPECT_TRUE(std::ranges::equal(order.pieces(), block));
}

TEST(ReadingOrder, RangesThatFollowEachOtherAreOnePiece) {
  const ReadingOrder order{std::vector<EntryRange>{{0, 0, 5}, {0, 5, 9}, {1, 0, 3}}};
  EXPECT_TRUE(order.is_block());
  EXPECT_EQ(entries_of(order.pieces()).size(), 12U);
  EXPECT_EQ(order.pieces().size(), 2U);
}

TEST(ReadingOrder, WhatLiesBetweenNearRangesIsReadAndNotTaken) {
  const std::vector<EntryRange> block{{0, 0, 5}, {0, 8, 10}, {0, 1000, 1001}};
  const ReadingOrder order{block};
  EXPECT_FALSE(order.is_block());
  EXPECT_TRUE(
      std::ranges::equal(order.pieces(), std::vector<EntryRange>{{0, 0, 10}, {0, 1000, 1001}}));
  EXPECT_EQ(read_block(order), entries_of(block));
}

TEST(ReadingOrder, AnyOrderOfRangesComesOutAsTheBlockAndIsReadInOrder) {
  std::mt19937 random{7};
  for (int round = 0; round < 200; ++round) {
    std::vector<EntryRange> block;
    for (std::uint32_t file = 0; file < 3; ++file) {
      std::int64_t entry = 0;
      for (int i = 0; i < 20; ++i) {
        entry += static_cast<std::int64_t>(random() % 60);
        const auto last = entry + 1 + static_cast<std::int64_t>(random() % 3);
        block.push_back({file, entry, last});
        entry = last;
      }
    }
    std::ranges::shuffle(block, random);
    const ReadingOrder order{block};
    EXPECT_EQ(read_block(order), entries_of(block));
    EXPECT_TRUE(std::ranges::is_sorted(entries_of(order.pieces())));
    EXPECT_LT(order.pieces().size(), block.size());
  }
}

}  // namespace forkrun::root_io
