#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <forkrun/bytes/inflate.hpp>

namespace forkrun {

/// A stream as zlib makes it, at its own level; empty where there is none that is smaller.
[[nodiscard]] std::vector<std::byte> deflated(std::span<const std::byte> from);

/// The stream of what a stream becomes, and of what comes after it: only that is deflated. `last`:
/// of the stream. Empty where there is none.
[[nodiscard]] std::vector<std::byte> deflated_after(std::span<const std::byte> stream,
                                                    const LastBlock& last,
                                                    std::span<const std::byte> more);

}  // namespace forkrun
