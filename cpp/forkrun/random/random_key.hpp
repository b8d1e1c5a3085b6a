#pragma once

#include <cstdint>
#include <string_view>

#include <forkrun/random/mixing.hpp>
#include <forkrun/random/philox.hpp>

namespace forkrun {

/// Which random numbers a module gets. A handle, got from `Construction::random` and kept as a
/// member of a module; `block.random(key, event)` gives the numbers of an event.
struct RandomKey {
  std::uint64_t value{};
  bool operator==(const RandomKey&) const = default;
};

/// mix(mix(seed + 0x9e3779b97f4a7c15) ^ FNV-1a of the stream's name), all in 64 bits.
[[nodiscard]] constexpr RandomKey random_key(std::uint64_t seed, std::string_view stream) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : stream) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return {mix(mix(seed + 0x9e3779b97f4a7c15U) ^ hash)};
}

/// Philox's key of a run: mix(key ^ run * 0x9e3779b97f4a7c15), low half first. A bijection of the
/// run: with lumi, event and position in the counter, no two numbers of a module are the same call.
[[nodiscard]] constexpr random::PhiloxKey philox_key(RandomKey key, std::uint32_t run) {
  const auto mixed = mix(key.value ^ (run * 0x9e3779b97f4a7c15U));
  return {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32U)};
}

}  // namespace forkrun
