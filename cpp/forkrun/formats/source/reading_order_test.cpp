#include <forkrun/formats/source/reading_order.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace forkrun::root_io {

namespace {

using Lists = std::vector<std::vector<std::vector<std::int16_t>>>;

template <typename T>
void put(Column& column, const std::vector<T>& values) {
  std::ranges::copy(values, reinterpret_cast<T*>(column.resize_values(values.size())));
}

Column nested(const Lists& events) {
  Column column{ColumnType::parse("int16[][]")};
  std::vector<std::int64_t> outer{0};
  std::vector<std::int64_t> inner{0};
  std::vector<std::int16_t> values;
  for (const auto& event : events) {
    outer.push_back(outer.back() + static_cast<std::int64_t>(event.size()));
    for (const auto& list : event) {
      inner.push_back(inner.back() + static_cast<std::int64_t>(list.size()));
      values.insert(values.end(), list.begin(), list.end());
    }
  }
  std::ranges::copy(outer, column.resize_offsets(events.size()).begin());
  std::ranges::copy(inner, column.resize_offsets(inner.size() - 1, 1).begin());
  put(column, values);
  return column;
}

Lists lists_of(const Column& column) {
  Lists events;
  const auto view = column.nested<std::int16_t>();
  for (std::size_t event = 0; event < view.size(); ++event) {
    auto& lists = events.emplace_back();
    const auto of_event = view[event];
    for (std::size_t list = 0; list < of_event.size(); ++list) {
      lists.emplace_back(of_event[list].begin(), of_event[list].end());
    }
  }
  return events;
}

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

TEST(JoinedColumn, HasTheEventsThatWereAddedOfScalars) {
  Column part{ColumnType::parse("float32[2]")};
  put<float>(part, {0, 1, 10, 11, 20, 21});
  JoinedColumn joined;
  joined.begin(part.type(), 3);
  joined.add(part, 1, 3);
  joined.add(part, 0, 1);
  joined.add(part, 2, 2);
  Column into;
  joined.fill(into);
  EXPECT_EQ(into.n_events(), 3U);
  EXPECT_TRUE(std::ranges::equal(into.values<float>(), std::vector<float>{10, 11, 20, 21, 0, 1}));
}

TEST(JoinedColumn, HasTheEventsThatWereAddedOfListsOfLists) {
  const auto one = nested({{{1, 2}, {}}, {}, {{3}}});
  const auto other = nested({{{4}}, {{}, {5, 6}}});
  JoinedColumn joined;
  joined.begin(one.type(), 4);
  joined.add(other, 1, 2);
  joined.add(one, 0, 3);
  joined.add(other, 0, 0);
  Column into;
  joined.fill(into);
  EXPECT_EQ(lists_of(into), (Lists{{{}, {5, 6}}, {{1, 2}, {}}, {}, {{3}}}));
}

}  // namespace forkrun::root_io
