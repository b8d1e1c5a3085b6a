#pragma once

#include <string>
#include <vector>

class TTree;

namespace forkrun::root_io {

/// "tree (file)" of the friends that are stored with a tree.
[[nodiscard]] std::vector<std::string> stored_friends(TTree& tree);

}  // namespace forkrun::root_io
