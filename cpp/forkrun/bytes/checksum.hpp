#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// Adler-32, the checksum at the end of a zlib stream.
[[nodiscard]] std::uint32_t adler32(std::span<const std::byte> bytes);

}  // namespace forkrun
