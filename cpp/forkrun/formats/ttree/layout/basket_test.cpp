#include <forkrun/formats/ttree/layout/basket.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

std::vector<std::byte> some_bytes(std::size_t n) {
  std::mt19937 random{1};
  std::vector<std::byte> bytes(n);
  for (auto& byte : bytes) {
    byte = static_cast<std::byte>(random() % 4);  // compressible
  }
  return bytes;
}

Basket decode(BasketRecord& record, bool has_offsets, Bytes& memory) {
  Basket basket;
  decode_basket(record.record, has_offsets, memory, basket);
  return basket;
}

class EveryCompression : public testing::TestWithParam<const char*> {};

TEST_P(EveryCompression, GivesBackEntriesOfFixedSize) {
  const auto entries = some_bytes(4000);
  auto record =
      encode_basket("branch", "tree", entries, {}, 4, 1000, Compression::parse(GetParam()));
  Bytes memory;
  const auto basket = decode(record, false, memory);
  EXPECT_EQ(basket.n_entries, 1000);
  EXPECT_EQ(basket.entry_size, 4U);
  EXPECT_TRUE(std::ranges::equal(basket.data, entries));
}

TEST_P(EveryCompression, GivesBackEntriesOfVaryingSize) {
  const auto entries = some_bytes(4000);
  const std::vector<std::int32_t> offsets{0, 0, 17, 18, 4000, 4000};
  auto record = encode_basket(std::string(300, 'b'), "tree", entries, offsets, 0, 6,
                              Compression::parse(GetParam()));
  Bytes memory;
  const auto basket = decode(record, true, memory);
  EXPECT_EQ(basket.offsets, (std::vector<std::int32_t>{0, 0, 17, 18, 4000, 4000, 4000}));
  EXPECT_TRUE(std::ranges::equal(basket.data, entries));
  EXPECT_EQ(basket.entries(2, 4).size(), 4000U - 17U);
}

/// Whether each byte of what is compressed may be another one without being noticed.
TEST_P(EveryCompression, HasAChecksumWhereAnyDamageIsNoticed) {
  const auto entries = some_bytes(4000);
  const auto compression = Compression::parse(GetParam());
  auto record = encode_basket("branch", "tree", entries, {}, 4, 1000, compression).record;
  EXPECT_EQ(has_checksum(record), compression.has_checksum());
  const auto end = record.size();
  bool is_noticed = true;
  for (auto at = end - 300; at < end; ++at) {
    auto damaged = record;
    damaged[at] ^= std::byte{0x15};
    Bytes memory;
    Basket basket;
    try {
      decode_basket(damaged, false, memory, basket);
      is_noticed = is_noticed && std::ranges::equal(basket.data, entries);
    } catch (const Error&) {  // passed over: it is noticed
    }
  }
  EXPECT_EQ(is_noticed, compression.has_checksum());
}

TEST(Basket, ThatDoesNotBecomeSmallerHasNoChecksum) {
  std::vector<std::byte> entries(4000);
  std::mt19937 random{1};
  std::ranges::generate(entries, [&] { return static_cast<std::byte>(random()); });
  const auto made =
      encode_basket("branch", "tree", entries, {}, 4, 1000, Compression::parse("zlib:1"));
  EXPECT_FALSE(has_checksum(made.record));
}

INSTANTIATE_TEST_SUITE_P(Basket, EveryCompression,
                         testing::Values("none", "zlib:1", "lzma:6", "lz4:4", "zstd:5"),
                         [](const auto& tested) {
                           const std::string name = tested.param;
                           return name.substr(0, name.find(':'));
                         });

/// They compress to about a half.
std::vector<std::byte> compressible_bytes(std::size_t n) {
  std::vector<std::byte> entries(n);
  std::uint32_t number = 1;
  for (std::size_t i = 0; i < entries.size(); i += 2) {
    number = number * 1664525U + 1013904223U;
    entries[i] = static_cast<std::byte>((number >> 24U) % 23U);
  }
  return entries;
}

std::vector<std::byte> zipped(const std::vector<std::byte>& entries, Compression compression) {
  return encode_basket("b", "t", entries, {}, 4, static_cast<std::int32_t>(entries.size() / 4),
                       compression)
      .record;
}

std::vector<std::byte> zipped_at(const char* level, const std::vector<std::byte>& entries) {
  return zipped(entries, Compression::parse(level));
}

TEST(Basket, ZstandardIsSearchedInOneWayFromZstd3ToZstd5WhereNoLevelIsChosen) {
  for (const std::size_t n : {10'000, 30'000, 100'000}) {
    const auto entries = compressible_bytes(n);
    const auto usual = zipped_at("auto", entries);
    for (const int settings : {503, 504, 505}) {
      EXPECT_EQ(zipped(entries, Compression::of_settings(settings)), usual);
    }
    for (const auto* level : {"zstd:1", "zstd:5", "zstd:6"}) {  // searched as ROOT does
      EXPECT_NE(zipped_at(level, entries), usual);
    }
  }
}

TEST(Basket, BytesDoNotDependOnWhatWasCompressedBefore) {
  const auto small = compressible_bytes(10'000);
  const auto large = compressible_bytes(1'000'000);
  for (const auto* level : {"auto", "zstd:1", "zstd:5", "zstd:7"}) {
    const auto of_small = zipped_at(level, small);
    const auto of_large = zipped_at(level, large);
    for (const auto* other : {"auto", "zstd:5", "zstd:9", "zstd:2"}) {
      static_cast<void>(zipped_at(other, some_bytes(200'000)));
      EXPECT_EQ(zipped_at(level, small), of_small);
      EXPECT_EQ(zipped_at(level, large), of_large);
    }
  }
}

TEST(Basket, LargerThanACompressionBlockIsCutIntoSeveral) {
  const auto entries = some_bytes((1U << 24U) + 12345U);
  auto record = encode_basket("b", "t", entries, {}, 1, static_cast<std::int32_t>(entries.size()),
                              Compression::parse("lz4:1"));
  EXPECT_LT(record.record.size(), entries.size());
  Bytes memory;
  EXPECT_TRUE(std::ranges::equal(decode(record, false, memory).data, entries));
}

TEST(Basket, WhatDoesNotShrinkIsStoredAsItIs) {
  std::vector<std::byte> entries(64);
  std::iota(reinterpret_cast<std::uint8_t*>(entries.data()),
            reinterpret_cast<std::uint8_t*>(entries.data()) + entries.size(), std::uint8_t{0});
  auto record = encode_basket("b", "t", entries, {}, 1, 64, Compression::parse("zstd:5"));
  EXPECT_EQ(record.header.n_bytes, record.header.key_length + 64);
}

TEST(Basket, DamageIsAnError) {
  const auto entries = some_bytes(4000);
  const std::vector<std::int32_t> offsets{0, 2000};
  auto record =
      encode_basket("b", "t", entries, offsets, 0, 2, Compression::parse("zstd:5")).record;
  Bytes memory;
  Basket basket;
  EXPECT_THROW(decode_basket(std::span{record}.first(20), true, memory, basket), Error);
  EXPECT_THROW(decode_basket(std::span{record}.first(record.size() - 9), true, memory, basket),
               Error);
  auto flipped = record;
  flipped[static_cast<std::size_t>(flipped.size()) - 30] ^= std::byte{0xff};
  std::fill(flipped.end() - 40, flipped.end() - 20, std::byte{0xee});
  EXPECT_THROW(decode_basket(flipped, true, memory, basket), Error);
}

/// Reads every byte that it gave: a sanitizer sees what lies outside.
std::size_t sum_of(const Basket& basket) {
  std::size_t sum = 0;
  for (std::int64_t i = 0; i < basket.n_entries; ++i) {
    for (const auto byte : basket.entries(basket.first_entry + i, basket.first_entry + i + 1)) {
      sum += std::to_integer<std::size_t>(byte);
    }
  }
  return sum;
}

TEST_P(EveryCompression, WithAnyDamageIsReadWithinItsBoundsOrRefused) {
  const auto entries = some_bytes(4000);
  const std::vector<std::int32_t> offsets{0, 0, 17, 18, 4000, 4000};
  const auto record =
      encode_basket("b", "t", entries, offsets, 0, 6, Compression::parse(GetParam())).record;
  std::mt19937 random{7};
  int n_refused = 0;
  Bytes memory;
  for (int round = 0; round < 5000; ++round) {
    auto damaged = record;
    const auto n_header = std::size_t{90};  // most of the damage to the key and the headers
    for (int i = 0; i <= round % 3; ++i) {
      const auto range = round % 2 == 0 ? n_header : damaged.size();
      damaged[random() % range] = static_cast<std::byte>(random());
    }
    damaged.resize(round % 7 == 0 ? random() % damaged.size() : damaged.size());
    try {
      Basket basket;
      decode_basket(damaged, round % 5 != 0, memory, basket);
      EXPECT_LE(sum_of(basket), 255 * memory.size());
    } catch (const Error&) {
      ++n_refused;
    }
  }
  EXPECT_GT(n_refused, 1000);
}

TEST(Basket, ThatClaimsMoreThanItsBytesCanBecomeIsRefusedBeforeMemoryIsTaken) {
  auto record =
      encode_basket("b", "t", some_bytes(4000), {}, 4, 1000, Compression::parse("zstd:5")).record;
  put_big_endian(&record[6], std::int32_t{0x7fffffff});  // of the object, uncompressed
  Bytes memory;
  Basket basket;
  EXPECT_THROW(decode_basket(record, false, memory, basket), Error);
  EXPECT_EQ(memory.size(), 0U);
}

TEST(Basket, GetsItsPlace) {
  auto record = encode_basket("b", "t", some_bytes(8), {}, 1, 8, Compression::parse("none")).record;
  place_basket(record, 0x123456789a, 100);
  EXPECT_EQ(big_endian<std::int64_t>(&record[18]), 0x123456789a);
  EXPECT_EQ(big_endian<std::int64_t>(&record[26]), 100);
}

TEST(CompressionName, OfUnknownFormIsAnErrorThatNamesTheForms) {
  for (const auto* text : {"zstd", "zstd:0", "zstd:10", "gzip:1", "", "zstd:x"}) {
    EXPECT_THROW(static_cast<void>(Compression::parse(text)), Error) << text;
  }
  EXPECT_EQ(Compression::parse("zstd:5").settings(), 505);
  EXPECT_EQ(Compression::parse("none").settings(), 0);
}

TEST(SwapCopy, ReversesTheBytesOfEveryValue) {
  for (const std::size_t size : {1U, 2U, 4U, 8U}) {
    std::vector<std::byte> from(size * 37);
    std::iota(reinterpret_cast<std::uint8_t*>(from.data()),
              reinterpret_cast<std::uint8_t*>(from.data()) + from.size(), std::uint8_t{0});
    std::vector<std::byte> to(from.size());
    swap_copy(to.data(), from.data(), 37, size);
    for (std::size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(to[i], from[i / size * size + size - 1 - i % size]);
    }
  }
}

}  // namespace
}  // namespace forkrun::root_io
