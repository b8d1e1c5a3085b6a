#pragma once

#include <forkrun/core/data/entry_ranks.hpp>
#include <forkrun/formats/ttree/read/unpacked_room.hpp>

namespace forkrun::root_io {

/// A basket with these entries of another one alone, numbered by their ranks. It is `from` itself,
/// with its memory, if that has no other ones; else `from` can be unpacked to again.
[[nodiscard]] UnpackedBasket only(const EntryRanks& ranks, UnpackedBasket& from);

}  // namespace forkrun::root_io
