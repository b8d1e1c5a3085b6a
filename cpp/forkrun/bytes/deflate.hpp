#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <forkrun/bytes/inflate.hpp>

namespace forkrun {

/// A zlib stream at zlib's own level; empty if it would not be smaller.
[[nodiscard]] std::vector<std::byte> deflated(std::span<const std::byte> from);

/// Extends a stream with more bytes: only those are deflated. `last`: last block of the stream.
/// Empty if that is impossible.
[[nodiscard]] std::vector<std::byte> deflated_after(std::span<const std::byte> stream,
                                                    const LastBlock& last,
                                                    std::span<const std::byte> more);

}  // namespace forkrun
