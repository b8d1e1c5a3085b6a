#pragma once

#include <cstddef>
#include <cstdint>

#include <forkrun/random/philox.hpp>

// For sources that are compiled for one kind of processor each. They include nothing with inline
// functions: the linker might take those for all processors.
namespace forkrun::random {

#ifdef __x86_64__
void make_pairs_avx2(const PairsToMake& pairs, std::size_t n_pairs);
void make_pairs_avx512(const PairsToMake& pairs, std::size_t n_pairs);
#endif

namespace {

/// Four vectors of counters at a time, one counter in the low half of each 64-bit lane, so that
/// four independent chains of multiplications overlap. `Lanes::Vector` is a vector of 64-bit lanes,
/// `Lanes::product` multiplies the low halves of two.
template <typename Lanes>
struct PhiloxLanes {
  using Vector = Lanes::Vector;
  static constexpr std::size_t n_lanes = sizeof(Vector) / sizeof(std::uint64_t);
  static constexpr std::size_t n_vectors = 4;
  static_assert(n_lanes * n_vectors <= philox_padding);

  [[gnu::always_inline]] static Vector load(const std::uint64_t* from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof vector);
    return vector;
  }
  [[gnu::always_inline]] static void store(std::uint64_t* to, Vector vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
  }

  [[gnu::always_inline]] static void make(const PairsToMake& pairs, std::size_t at) {
    Vector a[n_vectors], b[n_vectors], c[n_vectors], d[n_vectors];
    for (std::size_t i = 0; i < n_vectors; ++i) {
      a[i] = load(pairs.n + at + i * n_lanes);
      b[i] = load(pairs.event + at + i * n_lanes);
      c[i] = b[i] >> 32;
      d[i] = Vector{} + pairs.lumi;
    }
    auto first_key = pairs.key[0];
    auto second_key = pairs.key[1];
#pragma GCC unroll 10
    for (int round = 0; round < philox_rounds; ++round) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < n_vectors; ++i) {
        const Vector of_a = Lanes::product(a[i], Vector{} + philox_multipliers[0]);
        const Vector of_c = Lanes::product(c[i], Vector{} + philox_multipliers[1]);
        a[i] = (of_c >> 32) ^ b[i] ^ (Vector{} + first_key);
        b[i] = of_c;
        c[i] = (of_a >> 32) ^ d[i] ^ (Vector{} + second_key);
        d[i] = of_a;
      }
      first_key += philox_increments[0];
      second_key += philox_increments[1];
    }
    for (std::size_t i = 0; i < n_vectors; ++i) {
      store(pairs.first + at + i * n_lanes, (a[i] & 0xffffffffU) | (b[i] << 32));
      store(pairs.second + at + i * n_lanes, (c[i] & 0xffffffffU) | (d[i] << 32));
    }
  }

  static void make_all(const PairsToMake& pairs, std::size_t n_pairs) {
    for (std::size_t at = 0; at < n_pairs; at += n_vectors * n_lanes) {
      make(pairs, at);
    }
  }
};

}  // namespace

}  // namespace forkrun::random
