#pragma once

#include <vector>

#include <forkrun/formats/ttree/layout/basket_lists.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

/// As ROOT has read them.
[[nodiscard]] TreeBaskets baskets_of(TTree& tree, const std::vector<TBranch*>& branches);

}  // namespace forkrun::root_io
