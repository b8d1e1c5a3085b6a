#pragma once

#include <forkrun/core/data/entry_ranks.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/unpacked_room.hpp>

namespace forkrun::root_io {

/// Each entry holds a whole number of items: one, unless the branch is jagged. Lists, texts and
/// objects are checked as they are taken apart. \throws Error
void check_entries(const Basket& basket, const BranchLayout& layout);

/// A basket with these entries of another one alone, numbered by their ranks. It is `from` itself,
/// with its memory, if that has no other ones; else `from` can be unpacked to again.
[[nodiscard]] UnpackedBasket only(const EntryRanks& ranks, UnpackedBasket& from);

}  // namespace forkrun::root_io
