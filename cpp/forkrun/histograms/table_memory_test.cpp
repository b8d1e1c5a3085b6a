#include <forkrun/histograms/table_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include <forkrun/concurrency/cache_lines.hpp>

namespace forkrun {
namespace {

TEST(TableMemoryTest, small_and_large_tables_are_all_0_and_begin_with_a_pair_of_cache_lines) {
  for (const std::size_t n : {1UL, 1000UL, 300'000UL, 1'000'000UL}) {
    for (int turn = 0; turn < 2; ++turn) {  // memory that was used before, too
      TableMemory<std::uint64_t> table(n);
      EXPECT_EQ(std::ranges::count(table.values(), 0U), static_cast<std::ptrdiff_t>(n));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.values().data()) % cache_line_pair, 0U);
      std::ranges::fill(table.writable(), 7U);
    }
  }
}

TEST(TableMemoryTest, copies_share_memory_until_one_of_them_writes) {
  TableMemory<std::uint32_t> table(3);
  table.writable()[1] = 5;
  TableMemory<std::uint32_t> copy{table};
  EXPECT_EQ(copy.values().data(), table.values().data());
  copy.writable()[1] = 6;
  EXPECT_EQ(table.values()[1], 5U);
  EXPECT_EQ(copy.values()[1], 6U);
  const auto* const before = table.values().data();
  EXPECT_EQ(table.writable().data(), before);  // nobody shares it any more
}

TEST(TableMemoryTest, a_table_of_nothing_takes_no_memory) {
  TableMemory<std::uint32_t> table(0);
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.values().data(), nullptr);
  EXPECT_TRUE(table.writable().empty());
}

}  // namespace
}  // namespace forkrun
