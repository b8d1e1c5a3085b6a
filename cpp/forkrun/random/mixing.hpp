#pragma once

#include <cstdint>

namespace forkrun {

/// The finaliser of SplitMix64: a bijection in which every input bit changes every output bit with
/// probability one half.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace forkrun
