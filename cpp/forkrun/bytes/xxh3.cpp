#include <forkrun/bytes/xxh3.hpp>

#include <array>
#include <bit>
#include <cstring>

// The algorithm is that of Yann Collet's xxHash, whose results are fixed since its version 0.8.

namespace forkrun {

namespace {

using Word = std::uint64_t;
__extension__ using DoubleWord = unsigned __int128;

constexpr Word prime_1 = 0x9E3779B185EBCA87;
constexpr Word prime_2 = 0xC2B2AE3D27D4EB4F;
constexpr Word prime_3 = 0x165667B19E3779F9;
constexpr Word prime_4 = 0x85EBCA77C2B2AE63;
constexpr Word prime_5 = 0x27D4EB2F165667C5;
constexpr std::uint32_t small_prime_1 = 0x9E3779B1;
constexpr std::uint32_t small_prime_2 = 0x85EBCA77;
constexpr std::uint32_t small_prime_3 = 0xC2B2AE3D;
constexpr Word mixing_1 = 0x165667919E3779F9;
constexpr Word mixing_2 = 0x9FB21C651E98DF25;

/// xxHash's own secret, in words of a little-endian host.
alignas(64) constexpr std::array<Word, 24> secret_words{
    0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
    0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0,
    0xcb00c391bb52283c, 0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
    0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a, 0x647378d9c97e9fc8,
    0xc3ebd33483acc5ea, 0xeb6313faffa081c5, 0x49daf0b751dd0d17, 0x9e68d429265516d3,
    0xfca1477d58be162b, 0xce31d07ad1b8f88f, 0x280416958f3acb45, 0x7e404bbbcafbd7af,
};
constexpr std::size_t n_secret_bytes = sizeof secret_words;

template <typename T>
T number_at(const std::byte* from) {
  T number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

Word word_at(const std::byte* from) { return number_at<Word>(from); }
std::uint32_t half_at(const std::byte* from) { return number_at<std::uint32_t>(from); }
const std::byte* secret_at(std::size_t place) {
  return reinterpret_cast<const std::byte*>(secret_words.data()) + place;
}
Word secret(std::size_t place) { return word_at(secret_at(place)); }

Word folded_product(Word a, Word b) {
  const auto product = static_cast<DoubleWord>(a) * b;
  return static_cast<Word>(product) ^ static_cast<Word>(product >> 64U);
}

Word shuffled(Word hash) {
  hash ^= hash >> 37U;
  hash *= mixing_1;
  return hash ^ (hash >> 32U);
}

Word shuffled_as_before(Word hash) {
  hash ^= hash >> 33U;
  hash *= prime_2;
  hash ^= hash >> 29U;
  hash *= prime_3;
  return hash ^ (hash >> 32U);
}

Word of_up_to_3(const std::byte* from, std::size_t n) {
  const auto byte = [from](std::size_t i) { return std::to_integer<std::uint32_t>(from[i]); };
  const auto joined = (byte(0) << 16U) | (byte(n >> 1U) << 24U) | byte(n - 1) |
                      (static_cast<std::uint32_t>(n) << 8U);
  return shuffled_as_before(joined ^ Word{half_at(secret_at(0)) ^ half_at(secret_at(4))});
}

Word of_up_to_8(const std::byte* from, std::size_t n) {
  const Word joined = half_at(from + n - 4) + (Word{half_at(from)} << 32U);
  auto hash = joined ^ secret(8) ^ secret(16);
  hash ^= std::rotl(hash, 49) ^ std::rotl(hash, 24);
  hash *= mixing_2;
  hash ^= (hash >> 35U) + n;
  hash *= mixing_2;
  return hash ^ (hash >> 28U);
}

Word of_up_to_16(const std::byte* from, std::size_t n) {
  const auto low = word_at(from) ^ secret(24) ^ secret(32);
  const auto high = word_at(from + n - 8) ^ secret(40) ^ secret(48);
  return shuffled(n + __builtin_bswap64(low) + high + folded_product(low, high));
}

Word mixed(const std::byte* from, std::size_t place) {
  return folded_product(word_at(from) ^ secret(place), word_at(from + 8) ^ secret(place + 8));
}

Word of_up_to_128(const std::byte* from, std::size_t n) {
  auto sum = n * prime_1;
  for (auto i = (n - 1) / 32 + 1; i-- > 0;) {
    sum += mixed(from + 16 * i, 32 * i) + mixed(from + n - 16 * (i + 1), 32 * i + 16);
  }
  return shuffled(sum);
}

Word of_up_to_240(const std::byte* from, std::size_t n) {
  constexpr std::size_t n_first = 8, later = 3, least_secret = 136;
  auto sum = n * prime_1;
  for (std::size_t i = 0; i < n_first; ++i) {
    sum += mixed(from + 16 * i, 16 * i);
  }
  sum = shuffled(sum);
  for (auto i = n_first; i < n / 16; ++i) {
    sum += mixed(from + 16 * i, 16 * (i - n_first) + later);
  }
  return shuffled(sum + mixed(from + n - 16, least_secret - 17));
}

constexpr std::size_t stripe = 64;
using Lanes = std::array<Word, stripe / sizeof(Word)>;

void add_stripe(Lanes& lanes, const std::byte* from, const std::byte* key) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto value = word_at(from + 8 * i);
    const auto keyed = value ^ word_at(key + 8 * i);
    lanes[i ^ 1U] += value;
    lanes[i] += (keyed & 0xffffffffU) * (keyed >> 32U);
  }
}

void scramble(Lanes& lanes) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i] ^= lanes[i] >> 47U;
    lanes[i] ^= secret(n_secret_bytes - stripe + 8 * i);
    lanes[i] *= small_prime_1;
  }
}

Word merged(const Lanes& lanes, std::size_t place, Word sum) {
  for (std::size_t i = 0; i < lanes.size(); i += 2) {
    sum +=
        folded_product(lanes[i] ^ secret(place + 8 * i), lanes[i + 1] ^ secret(place + 8 * i + 8));
  }
  return shuffled(sum);
}

Word of_many(const std::byte* from, std::size_t n) {
  constexpr std::size_t n_in_block = (n_secret_bytes - stripe) / 8;
  constexpr std::size_t last_place = n_secret_bytes - stripe - 7;
  Lanes lanes{small_prime_3, prime_1,       prime_2, prime_3,
              prime_4,       small_prime_2, prime_5, small_prime_1};
  const auto n_stripes = (n - 1) / stripe;
  for (std::size_t i = 0; i < n_stripes; ++i) {
    add_stripe(lanes, from + stripe * i, secret_at(8 * (i % n_in_block)));
    if (i % n_in_block == n_in_block - 1) {
      scramble(lanes);
    }
  }
  add_stripe(lanes, from + n - stripe, secret_at(last_place));
  constexpr std::size_t merge_place = 11;
  return merged(lanes, merge_place, n * prime_1);
}

}  // namespace

std::uint64_t xxh3(std::span<const std::byte> bytes) {
  constexpr std::size_t few = 128, some = 240;
  const auto* from = bytes.data();
  const auto n = bytes.size();
  if (n == 0) {
    return shuffled_as_before(secret(56) ^ secret(64));
  }
  if (n <= 3) {
    return of_up_to_3(from, n);
  }
  if (n <= 8) {
    return of_up_to_8(from, n);
  }
  if (n <= 16) {
    return of_up_to_16(from, n);
  }
  return n <= few ? of_up_to_128(from, n) : n <= some ? of_up_to_240(from, n) : of_many(from, n);
}

}  // namespace forkrun
