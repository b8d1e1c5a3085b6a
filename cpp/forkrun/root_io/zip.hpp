#pragma once

#include <cstddef>
#include <span>

#include <forkrun/root_io/compression.hpp>

namespace forkrun::root_io {

/// Bytes that one compressed byte can stand for: Zstandard has blocks of 128 KiB of one value in
/// four bytes.
constexpr std::size_t largest_ratio = 1U << 15U;

/// Looks at the heads of the blocks only: how large they are and become. \throws Error if together
/// they do not become `n_into` bytes, or none can become what it says.
void check_blocks(std::span<const std::byte> from, std::size_t n_into);

/// Uncompresses ROOT's sequence of compressed blocks into exactly `into.size()` bytes.
/// \throws Error if the data are damaged.
void unzip(std::span<const std::byte> from, std::span<std::byte> into);

/// Compresses into ROOT's sequence of blocks; gives the number of bytes, 0 if they would not be
/// fewer. The bytes are those that ROOT itself would write.
[[nodiscard]] std::size_t zip(std::span<const std::byte> from, Compression compression,
                              std::span<std::byte> into);

}  // namespace forkrun::root_io
