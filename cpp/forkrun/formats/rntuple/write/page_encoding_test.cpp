#include <forkrun/formats/rntuple/write/page_encoding.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include <forkrun/formats/rntuple/page_values.hpp>

namespace forkrun::rntuple {

namespace {

constexpr std::size_t n_values = 1000;

std::vector<std::byte> random_bytes(std::size_t n) {
  std::mt19937 random{7};
  std::vector<std::byte> bytes(n);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

/// Bits behind the last value are zeros.
std::vector<std::byte> random_page(const StoredColumn& column, std::size_t n) {
  auto page = random_bytes(packed_bytes(column, n));
  if (const auto n_used = n * column.n_bits % 8; n_used > 0) {
    page.back() &= static_cast<std::byte>((1U << n_used) - 1);
  }
  return page;
}

}  // namespace

TEST(PageEncoding, PagesOfEveryEncodingAreWrittenAsTheyWereRead) {
  using enum Encoding;
  for (const auto& [encoding, n_bits] :
       std::vector<std::pair<Encoding, std::uint16_t>>{{bit, 1},
                                                       {byte, 8},
                                                       {character, 8},
                                                       {int8, 8},
                                                       {uint8, 8},
                                                       {int16, 16},
                                                       {uint16, 16},
                                                       {int32, 32},
                                                       {uint32, 32},
                                                       {int64, 64},
                                                       {uint64, 64},
                                                       {real16, 16},
                                                       {real32, 32},
                                                       {real64, 64},
                                                       {index32, 32},
                                                       {index64, 64},
                                                       {split_int16, 16},
                                                       {split_uint16, 16},
                                                       {split_int32, 32},
                                                       {split_uint32, 32},
                                                       {split_int64, 64},
                                                       {split_uint64, 64},
                                                       {split_real32, 32},
                                                       {split_real64, 64},
                                                       {split_index32, 32},
                                                       {split_index64, 64},
                                                       {real32_truncated, 11},
                                                       {real32_truncated, 31},
                                                       {real32_quantised, 1},
                                                       {real32_quantised, 23},
                                                       {real32_quantised, 32}}) {
    const StoredColumn column{.encoding = encoding, .n_bits = n_bits};
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, n_values - 3, n_values}) {
      const auto page = random_page(column, n);
      std::vector<std::byte> values(n * size_of(stored_element(column)));
      decode_stored(column, page, n, values.data());
      std::vector<std::byte> written(page.size(), std::byte{0xaa});
      encode_page(column, values, n, written);
      EXPECT_EQ(written, page) << "encoding " << static_cast<int>(encoding) << ", " << n_bits
                               << " bits, " << n << " values";
    }
  }
}

TEST(PageEncoding, NewColumnsAreReadAsTheirOwnType) {
  for (int i = 0; i <= static_cast<int>(ElementType::character); ++i) {
    const auto element = static_cast<ElementType>(i);
    const auto column = new_column(element, 0);
    EXPECT_EQ(element_of(column.encoding), element);
    EXPECT_EQ(stored_element(column), element);
  }
}

}  // namespace forkrun::rntuple
