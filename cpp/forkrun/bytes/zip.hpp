#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/bytes/compression.hpp>

namespace forkrun {

/// Bytes that one compressed byte can stand for: Zstandard has blocks of 128 KiB of one value in
/// four bytes.
constexpr std::size_t largest_ratio = 1U << 15U;

/// Looks at the heads of the blocks only: how large they are and become. \throws Error if together
/// they do not become `n_into` bytes, or none can become what it says.
void check_blocks(std::span<const std::byte> from, std::size_t n_into);

/// Whether each of ROOT's compressed blocks has a checksum, which `unzip` compares. False for what
/// is damaged.
[[nodiscard]] bool have_checksums(std::span<const std::byte> from);

/// Uncompresses ROOT's sequence of compressed blocks into exactly `into.size()` bytes.
/// \throws Error if the data are damaged.
void unzip(std::span<const std::byte> from, std::span<std::byte> into);

/// Whether bytes are one block of zlib, as ROOT writes it, which becomes so many.
[[nodiscard]] bool is_one_zlib_block(std::span<const std::byte> from, std::size_t n_into);
/// Compressed blocks, and room for exactly what they become.
struct Zipped {
  std::span<const std::byte> from;
  std::span<std::byte> into;
};
/// Whether two are uncompressed sooner together than one after the other.
[[nodiscard]] bool are_better_together(const Zipped& one, const Zipped& other);
/// As `unzip` of each. \throws Error if data of one are damaged.
void unzip_both(const Zipped& one, const Zipped& other);

/// Compresses into ROOT's sequence of blocks; gives the number of bytes, 0 if they would not be
/// fewer. The bytes are those that ROOT itself would write, but for Zstandard up to `zstd:5`.
[[nodiscard]] std::size_t zip(std::span<const std::byte> from, Compression compression,
                              std::span<std::byte> into);

/// Whether an object of a file can have become so small by compression: blocks of zeros may. What
/// a damaged file says may be anything.
[[nodiscard]] bool is_possible_size(std::int64_t n_object, std::int64_t n_stored);
/// An object as it lies behind its key, compressed if it is smaller so. \throws Error if the data
/// are damaged.
[[nodiscard]] std::vector<std::byte> restored(std::span<const std::byte> stored,
                                              std::size_t n_object);
/// What is stored of an object: itself if it is small, or compression would not make it smaller.
[[nodiscard]] std::vector<std::byte> stored(std::span<const std::byte> object,
                                            Compression compression);

}  // namespace forkrun
