#include <forkrun/formats/rntuple/page_values.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace forkrun::rntuple {

namespace {

using Packed = std::vector<std::byte>;

Packed bytes(std::initializer_list<int> values) {
  Packed packed;
  for (const auto value : values) {
    packed.push_back(static_cast<std::byte>(value));
  }
  return packed;
}

template <typename T>
std::vector<T> decoded(StoredColumn column, const Packed& packed, std::size_t n) {
  EXPECT_TRUE(can_be_read_as(column, element_type_of<T>));
  EXPECT_EQ(packed_bytes(column, n), packed.size());
  std::vector<std::byte> memory(n * sizeof(T));
  decode_page(column, element_type_of<T>, packed, n, memory.data());
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, &memory[i * sizeof(T)], sizeof(T));
    values[i] = value;
  }
  return values;
}

}  // namespace

TEST(PageValues, BitsComeLowestFirst) {
  const std::vector<bool> wanted{true, false, true, true, false, false, false, false, true};
  EXPECT_EQ(decoded<bool>({Encoding::bit, 1}, bytes({0x0d, 0x01}), 9), wanted);
}

TEST(PageValues, PlainNumbersAreLittleEndian) {
  EXPECT_EQ(decoded<std::int16_t>({Encoding::int16, 16}, bytes({0xfe, 0xff, 1, 2}), 2),
            (std::vector<std::int16_t>{-2, 0x0201}));
  EXPECT_EQ(decoded<std::uint8_t>({Encoding::byte, 8}, bytes({255}), 1),
            std::vector<std::uint8_t>{255});
  EXPECT_EQ(decoded<std::int8_t>({Encoding::character, 8}, bytes({0x41, 0xff}), 2),
            (std::vector<std::int8_t>{0x41, -1}));
}

TEST(PageValues, SplitNumbersHaveTheirFirstBytesTogether) {
  EXPECT_EQ(decoded<std::uint32_t>({Encoding::split_uint32, 32},
                                   bytes({0x78, 1, 0x56, 0, 0x34, 0, 0x12, 0}), 2),
            (std::vector<std::uint32_t>{0x12345678, 1}));
  EXPECT_EQ(decoded<float>({Encoding::split_real32, 32}, bytes({0, 0, 0x80, 0x3f}), 1),
            std::vector<float>{1});
}

TEST(PageValues, SignedSplitNumbersAlternateAroundZero) {
  EXPECT_EQ(decoded<std::int16_t>({Encoding::split_int16, 16},
                                  bytes({0, 1, 2, 3, 0xff, 0, 0, 0, 0, 0xff}), 5),
            (std::vector<std::int16_t>{0, -1, 1, -2, std::numeric_limits<std::int16_t>::min()}));
  EXPECT_EQ(decoded<std::int64_t>({Encoding::split_int64, 64},
                                  bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), 1),
            std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
}

TEST(PageValues, PlacesInListsAreAddedUpWhereTheyAreSplit) {
  EXPECT_EQ(decoded<std::int64_t>({Encoding::split_index32, 32},
                                  bytes({3, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0}), 3),
            (std::vector<std::int64_t>{3, 3, 65541}));
  EXPECT_EQ(decoded<std::int64_t>({Encoding::index32, 32}, bytes({255, 255, 255, 255}), 1),
            std::vector<std::int64_t>{4294967295});
}

TEST(PageValues, HalfNumbersBecomeWholeOnes) {
  const auto values = decoded<float>(
      {Encoding::real16, 16}, bytes({0, 0x3c, 0, 0xc0, 0, 0x7c, 1, 0, 0xff, 0x7b, 0, 0x80}), 6);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -2);
  EXPECT_TRUE(std::isinf(values[2]));
  EXPECT_EQ(values[3], std::ldexp(1.F, -24));
  EXPECT_EQ(values[4], 65504);
  EXPECT_TRUE(values[5] == 0 && std::signbit(values[5]));
}

TEST(PageValues, TruncatedNumbersKeepTheirHighestBits) {
  // 0x3f8 and 0x400, of ten bits each: 1 and 2 have no others.
  const auto word = (0x3f800000U >> 22U) | (0x40000000U >> 22U) << 10U;
  EXPECT_EQ(
      decoded<float>({Encoding::real32_truncated, 10},
                     bytes({static_cast<int>(word & 255U), static_cast<int>(word >> 8U & 255U),
                            static_cast<int>(word >> 16U)}),
                     2),
      (std::vector<float>{std::bit_cast<float>(0x3f800000U & 0xffc00000U), 2}));
}

TEST(PageValues, QuantisedNumbersAreStepsFromTheLeast) {
  const StoredColumn column{Encoding::real32_quantised, 8, 0, 0, false, false, {-1, 1}};
  EXPECT_EQ(decoded<float>(column, bytes({0, 255, 51}), 3),
            (std::vector<float>{-1, 1, static_cast<float>(51 * (2. / 255) - 1)}));
  EXPECT_EQ(decoded<double>(column, bytes({51}), 1), std::vector<double>{51 * (2. / 255) - 1});
}

TEST(PageValues, RealNumbersOf32BitsAreAlsoReadAsFloat64AndOthersAreNot) {
  EXPECT_EQ(decoded<double>({Encoding::real32, 32}, bytes({0, 0, 0x80, 0x3f}), 1),
            std::vector<double>{1});
  EXPECT_FALSE(can_be_read_as({Encoding::real64, 64}, ElementType::float32));
  EXPECT_FALSE(can_be_read_as({Encoding::switched, 96}, ElementType::int64));
}

TEST(PageValues, SomeOfAPageAreThoseOfTheWhole) {
  using enum Encoding;
  const std::vector<StoredColumn> columns{{bit, 1},
                                          {uint8, 8},
                                          {int16, 16},
                                          {real64, 64},
                                          {index32, 32},
                                          {index64, 64},
                                          {split_int16, 16},
                                          {split_int32, 32},
                                          {split_int64, 64},
                                          {split_uint16, 16},
                                          {split_uint32, 32},
                                          {split_uint64, 64},
                                          {split_real32, 32},
                                          {split_real64, 64},
                                          {real16, 16},
                                          {real32_truncated, 11},
                                          {real32_quantised, 13}};
  constexpr std::size_t n = 93;
  const std::vector<PlacesInPage> places{{0, 1}, {3, 5}, {5, 6}, {17, 60}, {64, 88}, {92, 93}};
  for (const auto& column : columns) {
    ASSERT_TRUE(are_apart(column.encoding));
    Packed page(packed_bytes(column, n));
    for (std::size_t i = 0; i < page.size(); ++i) {
      page[i] = static_cast<std::byte>(7 * i * i + 13 * i + 5);
    }
    const auto compare = [&](ElementType element, auto decode) {
      const auto size = size_of(element);
      std::vector<std::byte> all(n * size), some(n * size), wanted;
      const PlacesInPage whole{0, n};
      decode(PackedPage{page, n, {&whole, 1}}, all.data());
      decode(PackedPage{page, n, places}, some.data());
      for (const auto& [first, last] : places) {
        wanted.insert(wanted.end(), &all[first * size], &all[first * size] + (last - first) * size);
      }
      some.resize(wanted.size());
      EXPECT_EQ(some, wanted) << static_cast<int>(column.encoding);
    };
    compare(element_of(column.encoding), [&](const PackedPage& from, std::byte* into) {
      decode_page(column, element_of(column.encoding), from, into);
    });
    compare(stored_element(column),
            [&](const PackedPage& from, std::byte* into) { decode_stored(column, from, into); });
  }
}

TEST(PageValues, PlacesInListsAreAddedUpWhateverTheirSize) {
  const StoredColumn column{Encoding::split_index64, 64};
  for (const std::int64_t step : {1, 255, 256, 65535, 65536, 1 << 30}) {
    Packed page(5 * sizeof(std::int64_t));
    for (std::size_t i = 0; i < page.size(); ++i) {
      page[i] = static_cast<std::byte>(step >> (8 * (i / 5)));
    }
    EXPECT_EQ(decoded<std::int64_t>(column, page, 5),
              (std::vector<std::int64_t>{step, 2 * step, 3 * step, 4 * step, 5 * step}));
  }
}

}  // namespace forkrun::rntuple
