#pragma once

#include <cstddef>
#include <span>

#include <forkrun/root_io/compression.hpp>

namespace forkrun::root_io {

/// Uncompresses ROOT's sequence of compressed blocks into exactly `into.size()` bytes.
/// \throws Error if the data are damaged.
void unzip(std::span<const std::byte> from, std::span<std::byte> into);

/// Compresses into ROOT's sequence of blocks; gives the number of bytes, 0 if they would not be
/// fewer. The bytes are those that ROOT itself would write.
[[nodiscard]] std::size_t zip(std::span<const std::byte> from, Compression compression,
                              std::span<std::byte> into);

}  // namespace forkrun::root_io
