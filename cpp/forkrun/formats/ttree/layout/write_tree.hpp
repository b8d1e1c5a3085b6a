#pragma once

#include <cstdint>
#include <vector>

#include <forkrun/formats/ttree/layout/basket_lists.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>

namespace forkrun::root_io {

class ObjectWriter;

/// What a branch holds that is written.
struct BranchContent {
  std::int64_t n_bytes{};         ///< of baskets, uncompressed, with their keys
  std::int64_t n_stored_bytes{};  ///< of the same on file
  BranchBaskets list;
};

/// The members of a TTree, whose branches hold this, in their order.
void write_tree(ObjectWriter& to, const TreeMembers& tree, std::int64_t n_entries,
                const std::vector<BranchContent>& contents);

}  // namespace forkrun::root_io
