#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/bytes/compression.hpp>

namespace forkrun {

/// Largest expansion of one compressed byte: Zstandard has blocks of 128 KiB of one value in four
/// bytes.
constexpr std::size_t largest_ratio = 1U << 15U;

/// Checks the heads of the blocks only: their sizes before and after. \throws Error if together
/// they do not make `n_into` bytes, or a size is impossible.
void check_blocks(std::span<const std::byte> from, std::size_t n_into);

/// Whether each of ROOT's compressed blocks has a checksum, which `unzip` compares. False for
/// damaged data.
[[nodiscard]] bool have_checksums(std::span<const std::byte> from);

/// Uncompresses ROOT's sequence of compressed blocks into exactly `into.size()` bytes.
/// \throws Error if the data are damaged.
void unzip(std::span<const std::byte> from, std::span<std::byte> into);

/// Whether bytes are one block of zlib, in ROOT's form, of so many uncompressed bytes.
[[nodiscard]] bool is_one_zlib_block(std::span<const std::byte> from, std::size_t n_into);
/// Compressed blocks, and room for exactly their uncompressed bytes.
struct Zipped {
  std::span<const std::byte> from;
  std::span<std::byte> into;
};
/// Whether two are uncompressed faster together than one after the other.
[[nodiscard]] bool are_better_together(const Zipped& one, const Zipped& other);
/// Like `unzip` of each. \throws Error if data of one are damaged.
void unzip_both(const Zipped& one, const Zipped& other);

/// Compresses into ROOT's sequence of blocks; returns the number of bytes, 0 if they would not be
/// fewer. The bytes are ROOT's own, except for Zstandard up to `zstd:5`.
[[nodiscard]] std::size_t zip(std::span<const std::byte> from, Compression compression,
                              std::span<std::byte> into);

/// Whether an object of a file can be compressed to this size: blocks of zeros may. Sizes in a
/// damaged file may be anything.
[[nodiscard]] bool is_possible_size(std::int64_t n_object, std::int64_t n_stored);
/// An object stored after its key, compressed if that is smaller. \throws Error if the data are
/// damaged.
[[nodiscard]] std::vector<std::byte> restored(std::span<const std::byte> stored,
                                              std::size_t n_object);
/// Stored form of an object: itself if it is small, or compression would not make it smaller.
[[nodiscard]] std::vector<std::byte> stored(std::span<const std::byte> object,
                                            Compression compression);

/// Like `zip`, for a page of an RNTuple, in which the first bytes of all numbers are together, then
/// the second ones. By default, zstd:3 to zstd:5 have another search than for baskets.
[[nodiscard]] std::size_t zip_page(std::span<const std::byte> from, Compression compression,
                                   std::span<std::byte> into);

}  // namespace forkrun
