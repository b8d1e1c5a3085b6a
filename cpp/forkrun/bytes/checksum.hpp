#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// Adler-32, with which a stream of zlib ends.
[[nodiscard]] std::uint32_t adler32(std::span<const std::byte> bytes);

}  // namespace forkrun
