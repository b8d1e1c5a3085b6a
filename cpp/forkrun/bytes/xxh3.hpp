#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// XXH3-64 without a seed, the checksum of RNTuples' pages and metadata.
[[nodiscard]] std::uint64_t xxh3(std::span<const std::byte> bytes);

}  // namespace forkrun
