#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// 128 bits that depend on every byte added and on the division of bytes among calls. Fast enough
/// for all output; not safe against deliberate collisions.
class ContentDigest {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::uint64_t number);
  [[nodiscard]] std::array<std::uint64_t, 2> value() const;

 private:
  std::array<std::uint64_t, 4> lanes_{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                                      0x082efa98ec4e6c89};  ///< digits of pi
};

[[nodiscard]] inline std::array<std::uint64_t, 2> digest_of(std::span<const std::byte> bytes) {
  ContentDigest digest;
  digest.add(bytes);
  return digest.value();
}

}  // namespace forkrun
