#pragma once

#include <cstddef>
#include <span>

#include <forkrun/bytes/compression.hpp>

namespace forkrun {

/// Like `zip`, for a page of an RNTuple, in which the first bytes of all numbers are together, then
/// the second ones. By default, zstd:3 to zstd:5 have another search than for baskets.
[[nodiscard]] std::size_t zip_page(std::span<const std::byte> from, Compression compression,
                                   std::span<std::byte> into);

}  // namespace forkrun
