#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace forkrun {

/// Adler-32, the checksum at the end of a zlib stream.
[[nodiscard]] std::uint32_t adler32(std::span<const std::byte> bytes);

/// A zlib stream, and room for exactly its inflated bytes.
struct ZlibStream {
  std::span<const std::byte> from;
  std::span<std::byte> into;
};

/// Whether the stream is whole and its checksum right. If not, `into` may have any content, and
/// zlib itself may still accept the stream: codes never written to ROOT files are left to it.
[[nodiscard]] bool inflate(const ZlibStream& stream);

/// The last block of a stream, in bits from its begin.
struct LastBlock {
  std::uint64_t begin{}, end{};
};
/// The last block; none where `inflate` is false.
[[nodiscard]] std::optional<LastBlock> inflate_to_end(const ZlibStream& stream);

struct Inflated {
  bool one, other;
};
/// Two in turns, in one thread. The next symbol of a stream is known only when the previous one is
/// decoded, which leaves the processor waiting; meanwhile it works on the other.
[[nodiscard]] Inflated inflate_both(const ZlibStream& one, const ZlibStream& other);

}  // namespace forkrun
