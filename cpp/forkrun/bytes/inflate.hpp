#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace forkrun {

/// A stream as zlib makes it, and room for exactly what it becomes.
struct ZlibStream {
  std::span<const std::byte> from;
  std::span<std::byte> into;
};

/// Whether the stream is whole and its checksum right. If not, `into` may have anything, and zlib
/// itself may still accept the stream: codes that no writer of ROOT files makes are left to it.
[[nodiscard]] bool inflate(const ZlibStream& stream);

/// The last block of a stream, in bits from its begin.
struct LastBlock {
  std::uint64_t begin{}, end{};
};
/// The same; none where `inflate` is false.
[[nodiscard]] std::optional<LastBlock> inflate_to_end(const ZlibStream& stream);

struct Inflated {
  bool one, other;
};
/// Two in turns, in one thread. A symbol of a stream is known to be next only when the one before
/// it is decoded, which takes a processor longer than it works; meanwhile it works on the other.
[[nodiscard]] Inflated inflate_both(const ZlibStream& one, const ZlibStream& other);

}  // namespace forkrun
