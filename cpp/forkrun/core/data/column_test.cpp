#include <forkrun/core/data/column.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

TEST(ColumnTypeTest, names_are_parsed_back) {
  for (const auto* name : {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                           "uint64", "float32", "float64", "float32[]", "bool[]", "float32[4]",
                           "int8[2][3]", "float64[][3]", "float32[][]", "string", "string[]"}) {
    EXPECT_EQ(ColumnType::parse(name).name(), name);
  }
  EXPECT_EQ(ColumnType::parse("uint16[]"), (ColumnType{ElementType::uint16, Shape::jagged}));
  EXPECT_EQ(size_of(ElementType::uint16), 2U);
}

TEST(ColumnTypeTest, unknown_name_lists_the_types) {
  try {
    (void)ColumnType::parse("float");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "\"float\" is not a column type: use one of bool, int8, uint8, int16, uint16, int32, "
        "uint32, int64, uint64, float32, float64, string, followed by \"[]\" for any "
        "number of values per event, \"[][]\" for lists of lists, \"[4]\" for four values");
  }
}

TEST(ColumnTypeTest, types_that_no_column_has_are_refused) {
  for (const auto* name :
       {"float32[4][]", "float32[][][][][][][]", "float32[0]", "float32[-1]", "float32[",
        "float32[4", "string[4]", "string[][][][][][]", "int8[2][2][2][2]", "float32]"}) {
    EXPECT_THROW((void)ColumnType::parse(name), Error) << name;
  }
}

TEST(ColumnTest, an_array_of_fixed_size_is_a_span_per_event) {
  Column column{ColumnType::parse("float32[2][3]")};
  const auto values = column.fill_scalar<float>(4);
  ASSERT_EQ(values.size(), 24U);
  std::iota(values.begin(), values.end(), 0.0F);
  EXPECT_EQ(column.n_events(), 4U);
  EXPECT_EQ(column.n_values(), 24U);
  const auto arrays = column.fixed<float>();
  ASSERT_EQ(arrays.size(), 4U);
  EXPECT_EQ(arrays[1].size(), 6U);
  EXPECT_EQ(arrays[1][0], 6);
}

TEST(ColumnTest, lists_of_lists_are_a_jagged_view_per_event) {
  Column column{ColumnType::parse("int32[][]")};
  std::ranges::copy(std::vector<std::int64_t>{0, 2, 2, 3}, column.resize_offsets(3).begin());
  std::ranges::copy(std::vector<std::int64_t>{0, 1, 3, 3}, column.resize_offsets(3, 1).begin());
  auto* values = reinterpret_cast<std::int32_t*>(column.resize_values(3));
  std::iota(values, values + 3, 10);
  const auto lists = column.nested<std::int32_t>();
  ASSERT_EQ(lists.size(), 3U);
  ASSERT_EQ(lists[0].size(), 2U);
  EXPECT_EQ(lists[0][1].size(), 2U);
  EXPECT_EQ(lists[0][1][1], 12);
  EXPECT_EQ(lists[1].size(), 0U);
  ASSERT_EQ(lists[2].size(), 1U);
  EXPECT_EQ(lists[2][0].size(), 0U);
}

TEST(ColumnTest, a_text_is_a_list_of_characters) {
  Column column{ColumnType::parse("string")};
  std::ranges::copy(std::vector<std::int64_t>{0, 3, 3}, column.resize_offsets(2).begin());
  std::ranges::copy(std::string_view{"abc"}, reinterpret_cast<char*>(column.resize_values(3)));
  EXPECT_EQ(text_of(column.jagged<char>()[0]), "abc");
  EXPECT_EQ(text_of(column.jagged<char>()[1]), "");
}

TEST(ColumnTest, scalar_values_are_read_back) {
  Column column{ColumnType::parse("float32")};
  const auto values = column.fill_scalar<float>(3);
  values[0] = 1;
  values[2] = 3;
  EXPECT_EQ(column.n_events(), 3U);
  EXPECT_EQ(column.values<float>().size(), 3U);
  EXPECT_EQ(column.values<float>()[2], 3);
}

TEST(ColumnTest, jagged_column_is_a_list_per_event) {
  Column column{ColumnType::parse("int32[]")};
  const auto offsets = column.resize_offsets(3);
  std::ranges::copy(std::vector<std::int64_t>{0, 2, 2, 3}, offsets.begin());
  auto* values = reinterpret_cast<std::int32_t*>(column.resize_values(3));
  values[0] = 10;
  values[1] = 11;
  values[2] = 12;
  const auto lists = column.jagged<std::int32_t>();
  ASSERT_EQ(lists.size(), 3U);
  EXPECT_EQ(lists[0].size(), 2U);
  EXPECT_EQ(lists[1].size(), 0U);
  EXPECT_EQ(lists[2][0], 12);
  EXPECT_EQ(column.n_events(), 3U);
  EXPECT_EQ(column.n_values(), 3U);
}

TEST(ColumnTest, column_that_was_never_filled_has_no_events) {
  const Column column{ColumnType::parse("int32[]")};
  EXPECT_EQ(column.jagged<std::int32_t>().size(), 0U);
}

TEST(ColumnTest, memory_is_aligned_and_used_again) {
  Column column{ColumnType::parse("float64")};
  const auto* first = column.fill_scalar<double>(100).data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(column.fill_scalar<double>(100).data(), first);
  EXPECT_EQ(column.fill_scalar<double>(7).data(), first);
}

TEST(ColumnTest, memory_that_somebody_holds_is_left_alone) {
  Column column{ColumnType::parse("int64")};
  column.fill_scalar<std::int64_t>(2)[0] = 42;
  const auto held = column.values_buffer();
  column.fill_scalar<std::int64_t>(2)[0] = 43;
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(held->data()), 42);
  EXPECT_EQ(column.values<std::int64_t>()[0], 43);
}

/// Events of one column behind each other, of any parts of another.
Column parts_of(const Column& column,
                const std::vector<std::pair<std::size_t, std::size_t>>& parts) {
  Column joined{column.type()};
  for (const auto& [first, last] : parts) {
    joined.append(column, first, last);
  }
  return joined;
}

TEST(ColumnTest, events_of_a_column_are_added_to_another) {
  Column column{ColumnType::parse("int16[2]")};
  std::ranges::copy(std::vector<std::int16_t>{1, 2, 3, 4, 5, 6},
                    column.fill_scalar<std::int16_t>(3).begin());
  const auto joined = parts_of(column, {{2, 3}, {1, 1}, {0, 2}});
  EXPECT_EQ(joined.n_events(), 3U);
  EXPECT_TRUE(std::ranges::equal(joined.values<std::int16_t>(),
                                 std::vector<std::int16_t>{5, 6, 1, 2, 3, 4}));
}

TEST(ColumnTest, lists_are_added_with_offsets_of_their_own) {
  Column column{ColumnType::parse("int32[]")};
  std::ranges::copy(std::vector<std::int64_t>{0, 2, 2, 5, 6}, column.resize_offsets(4).begin());
  auto* values = reinterpret_cast<std::int32_t*>(column.resize_values(6));
  std::iota(values, values + 6, 10);
  auto part = parts_of(column, {{1, 3}});
  EXPECT_TRUE(std::ranges::equal(part.offsets(), std::vector<std::int64_t>{0, 0, 3}));
  EXPECT_TRUE(std::ranges::equal(part.values<std::int32_t>(), std::vector{12, 13, 14}));
  part.append(column, 3, 4);
  part.append(column, 0, 1);
  EXPECT_TRUE(std::ranges::equal(part.offsets(), std::vector<std::int64_t>{0, 0, 3, 4, 6}));
  EXPECT_TRUE(std::ranges::equal(part.values<std::int32_t>(), std::vector{12, 13, 14, 15, 10, 11}));
  part.forget();
  part.append(column, 1, 2);
  EXPECT_EQ(part.n_events(), 1U);
  EXPECT_EQ(part.n_values(), 0U);
}

TEST(ColumnTest, lists_of_lists_are_added_with_all_their_offsets) {
  Column column{ColumnType::parse("int32[][]")};
  std::ranges::copy(std::vector<std::int64_t>{0, 2, 2, 3}, column.resize_offsets(3).begin());
  std::ranges::copy(std::vector<std::int64_t>{0, 1, 3, 5}, column.resize_offsets(3, 1).begin());
  auto* values = reinterpret_cast<std::int32_t*>(column.resize_values(5));
  std::iota(values, values + 5, 10);
  const auto joined = parts_of(column, {{2, 3}, {0, 2}});
  EXPECT_EQ(joined.n_lists(1), 3U);
  const auto lists = joined.nested<std::int32_t>();
  ASSERT_EQ(lists.size(), 3U);
  EXPECT_TRUE(std::ranges::equal(lists[0][0], std::vector{13, 14}));
  EXPECT_TRUE(std::ranges::equal(lists[1][0], std::vector{10}));
  EXPECT_TRUE(std::ranges::equal(lists[1][1], std::vector{11, 12}));
  EXPECT_EQ(lists[2].size(), 0U);
}

TEST(ColumnTest, what_is_added_leaves_memory_alone_that_somebody_holds) {
  Column column{ColumnType::parse("int64")};
  column.fill_scalar<std::int64_t>(1)[0] = 42;
  auto part = parts_of(column, {{0, 1}});
  const auto held = part.values_buffer();
  part.append(column, 0, 1);
  part.forget();
  column.fill_scalar<std::int64_t>(1)[0] = 43;
  part.append(column, 0, 1);
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(held->data()), 42);
  EXPECT_EQ(part.values<std::int64_t>()[0], 43);
}

TEST(ColumnTest, forgotten_column_has_no_events) {
  Column column{ColumnType::parse("int64")};
  column.fill_scalar<std::int64_t>(2);
  column.forget();
  EXPECT_EQ(column.n_events(), 0U);
  EXPECT_EQ(column.n_values(), 0U);
}

}  // namespace
}  // namespace forkrun
