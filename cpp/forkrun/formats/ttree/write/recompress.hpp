#pragma once

#include <cstddef>
#include <span>

#include <forkrun/formats/ttree/layout/basket.hpp>

namespace forkrun::root_io {

/// The same basket, compressed anew: what it holds, its offsets and the length of its header stay
/// as they are. \throws Error if it cannot be uncompressed.
[[nodiscard]] BasketRecord recompress_basket(std::span<const std::byte> record,
                                             Compression compression);

}  // namespace forkrun::root_io
