#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace forkrun::random {

/// Philox4x32-10 of J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1,
/// 2, 3" (SC11): a bijection of 128-bit counters for each 64-bit key, whose values pass all known
/// tests of randomness. Without state, so that numbers can be made in any order.
using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

inline constexpr int philox_rounds = 10;
inline constexpr std::uint32_t philox_multipliers[2] = {0xD2511F53U, 0xCD9E8D57U};
inline constexpr std::uint32_t philox_increments[2] = {0x9E3779B9U, 0xBB67AE85U};

[[nodiscard]] constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  auto [a, b, c, d] = counter;
  for (int round = 0; round < philox_rounds; ++round) {
    const auto of_a = std::uint64_t{a} * philox_multipliers[0];
    const auto of_c = std::uint64_t{c} * philox_multipliers[1];
    a = static_cast<std::uint32_t>(of_c >> 32U) ^ b ^ key[0];
    b = static_cast<std::uint32_t>(of_c);
    c = static_cast<std::uint32_t>(of_a >> 32U) ^ d ^ key[1];
    d = static_cast<std::uint32_t>(of_a);
    key[0] += philox_increments[0];
    key[1] += philox_increments[1];
  }
  return {a, b, c, d};
}

/// The stream of one event is a sequence of 64-bit words, made in pairs: words 2n and 2n + 1 are
/// the value of the counter (n, low and high half of the event number, lumi).
struct WordPair {
  std::uint64_t first;
  std::uint64_t second;
};

[[nodiscard]] constexpr WordPair word_pair(std::uint32_t n, std::uint64_t event, std::uint32_t lumi,
                                           PhiloxKey key) {
  const auto value = philox(
      {n, static_cast<std::uint32_t>(event), static_cast<std::uint32_t>(event >> 32U), lumi}, key);
  return {value[0] | (std::uint64_t{value[1]} << 32U), value[2] | (std::uint64_t{value[3]} << 32U)};
}

/// Many pairs at once. `n`, `event`: (n_pairs,); the words go to `first` and `second`, (n_pairs,).
/// All arrays have room for `philox_padding` more, which may be overwritten.
struct PairsToMake {
  const std::uint64_t* n;
  const std::uint64_t* event;
  std::uint32_t lumi;
  std::uint32_t key[2];
  std::uint64_t* first;
  std::uint64_t* second;
};
inline constexpr std::size_t philox_padding = 32;
void make_pairs(const PairsToMake& pairs, std::size_t n_pairs);

/// The same without vector instructions; for tests.
void make_pairs_one_by_one(const PairsToMake& pairs, std::size_t n_pairs);

}  // namespace forkrun::random
