#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// The checksum XXH3-64, without a seed, that RNTuples have of their pages and of what they say of
/// themselves.
[[nodiscard]] std::uint64_t xxh3(std::span<const std::byte> bytes);

}  // namespace forkrun
