#include <forkrun/bytes/inflate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <forkrun/bytes/deflate.hpp>
#include <forkrun/bytes/zip.hpp>

namespace forkrun {

namespace {

using Memory = std::vector<std::byte>;

/// Bytes of different kinds: of numbers, of few values, with repetitions from far and near, random
/// ones that zlib stores as they are.
Memory bytes_of_kind(int kind, std::size_t n, std::mt19937_64& random) {
  Memory bytes(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto any = random();
    const auto distance = 1 + any % (kind == 3 ? 7 : 30'000);
    switch (kind) {
      case 0: bytes[i] = static_cast<std::byte>(i % 4 == 0 ? 63 : any); break;
      case 1: bytes[i] = static_cast<std::byte>(std::log1p(any % 100'000)); break;
      case 2:
      case 3:
        bytes[i] =
            i > distance && any % 32 != 0 ? bytes[i - distance] : static_cast<std::byte>(any);
        break;
      default: bytes[i] = i < n / 2 ? static_cast<std::byte>(any) : std::byte{7};
    }
  }
  return bytes;
}
constexpr int n_kinds = 5;

/// As zlib compresses them: what ROOT makes, without its own head. Empty if they get no smaller.
Memory deflated(const Memory& bytes, int level) {
  constexpr std::size_t n_head = 9;
  Memory memory(bytes.size() + 1000);
  const auto n = zip(bytes, Compression::parse("zlib:" + std::to_string(level)), memory);
  return n == 0 ? Memory{} : Memory{memory.begin() + n_head, memory.begin() + std::ptrdiff_t(n)};
}

}  // namespace

TEST(Inflate, GivesWhatZlibHasCompressed) {
  std::mt19937_64 random{1};
  std::size_t n_streams = 0;
  for (int kind = 0; kind < n_kinds; ++kind) {
    for (const std::size_t n : {50U, 300U, 1000U, 5000U, 70'000U, 400'000U}) {
      for (const int level : {1, 4, 6, 9}) {
        const auto bytes = bytes_of_kind(kind, n, random);
        const auto stream = deflated(bytes, level);
        Memory found(n);
        EXPECT_TRUE(stream.empty() || (inflate({stream, found}) && found == bytes));
        n_streams += stream.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(n_streams, 90U);
}

TEST(Deflate, StreamsBecomeLongerWithoutBeingMadeAnew) {
  std::mt19937_64 random{4};
  for (int i = 0; i < 60; ++i) {
    auto bytes = bytes_of_kind(i % n_kinds, 1 + random() % 60'000, random);
    const auto more = bytes_of_kind(i % 3, 1 + random() % 3000, random);
    auto stream = deflated(bytes);
    for (int n = 0; n < 2; ++n) {  // also one that became longer before
      Memory found(bytes.size());
      const auto last = inflate_to_end({stream, found});
      ASSERT_TRUE(last);
      stream = deflated_after(stream, *last, more);
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    Memory found(bytes.size());
    EXPECT_TRUE(inflate({stream, found}) && found == bytes);
  }
}

TEST(Inflate, TwoAtATimeAreAsEachByItself) {
  std::mt19937_64 random{2};
  for (int i = 0; i < 60; ++i) {
    const auto one = bytes_of_kind(i % n_kinds, 1 + random() % 60'000, random);
    const auto other = bytes_of_kind(i % 2, 2000 + random() % 60'000, random);
    const auto stream = deflated(one, 1 + i % 9);
    auto of_other = deflated(other, 6);
    const bool is_damaged = i % 4 == 0;
    if (is_damaged) {
      of_other.at(of_other.size() / 2) ^= std::byte{16};
    }
    Memory found(one.size()), found_other(other.size());
    const auto inflated = inflate_both({stream, found}, {of_other, found_other});
    EXPECT_EQ(inflated.one, !stream.empty());
    EXPECT_TRUE(stream.empty() || found == one);
    EXPECT_EQ(inflated.other, !is_damaged);
    EXPECT_TRUE(is_damaged || found_other == other);
  }
}

TEST(Inflate, DamagedStreamsAreNotTakenForOthers) {
  std::mt19937_64 random{3};
  for (const int kind : {0, 3, 4}) {  // not few small values: their sum tells little
    const auto bytes = bytes_of_kind(kind, 1500, random);
    auto stream = deflated(bytes, 6);
    Memory found(bytes.size());
    for (std::size_t bit = 0; bit < 8 * stream.size(); ++bit) {
      const auto mask = std::byte{1} << (bit % 8);
      stream[bit / 8] ^= mask;
      EXPECT_TRUE(!inflate({stream, found}) || found == bytes);  // size of window: means nothing
      stream[bit / 8] ^= mask;
    }
    for (std::size_t n = 0; n < stream.size(); ++n) {
      const Memory cut{stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(n)};
      EXPECT_FALSE(inflate({cut, found}));
    }
    Memory shorter(bytes.size() - 1), longer(bytes.size() + 1);
    EXPECT_FALSE(inflate({stream, shorter}));
    EXPECT_FALSE(inflate({stream, longer}));
  }
}

TEST(Inflate, ChecksumIsThatOfItsDefinition) {
  std::mt19937_64 random{4};
  for (const std::size_t n : {0U, 1U, 31U, 32U, 33U, 5000U, 100'003U}) {
    Memory bytes(n, std::byte{255});
    for (int round = 0; round < 2; ++round) {
      std::uint32_t sum = 1, weighted = 0;
      for (const auto byte : bytes) {
        sum = (sum + std::to_integer<std::uint32_t>(byte)) % 65521;
        weighted = (weighted + sum) % 65521;
      }
      EXPECT_EQ(adler32(bytes), weighted << 16U | sum);
      std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
    }
  }
}

}  // namespace forkrun
