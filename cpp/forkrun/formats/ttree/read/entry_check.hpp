#pragma once

#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>

namespace forkrun::root_io {

/// Each entry holds a whole number of items: one, unless the branch is jagged. Lists, texts and
/// objects are checked as they are taken apart. \throws Error
void check_entries(const Basket& basket, const BranchLayout& layout);

}  // namespace forkrun::root_io
