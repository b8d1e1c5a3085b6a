#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <forkrun/formats/root_file/object_stream.hpp>

namespace forkrun::root_io {

/// A basket in the list of its branch.
struct ListedBasket {
  std::int64_t first_entry{};
  std::int64_t seek{};  ///< place in the file; 0: it is not in a record of its own
  std::int32_t n_bytes{};
  bool is_in_tree{};  ///< it is kept within the tree's own record
};

/// `place`: as the tree tells it, which of a basket in its own record may be any number.
inline ListedBasket listed_basket(std::int64_t first_entry, std::int64_t place,
                                  std::int32_t n_bytes, bool is_in_tree) {
  const bool is_on_file = n_bytes != 0 || !is_in_tree;
  return {first_entry, is_on_file ? place : 0, n_bytes, is_in_tree};
}

/// A basket that is kept within the tree's own record.
struct BasketOfTree {
  std::int64_t n_entries{};
  std::vector<std::byte> entries{};
  std::vector<std::int32_t> offsets{};  ///< of the entries, and their end; empty: all are as long
};

/// The list of baskets of one branch, as the tree has it: not checked.
struct BranchBaskets {
  std::int64_t n_entries{};
  std::vector<ListedBasket> baskets;  ///< empty if there is none, or the list is damaged
};

/// A tree's own account of its baskets.
struct TreeBaskets {
  std::int64_t n_entries{};
  std::vector<BranchBaskets> branches;
};

/// A basket in the list of its branch, which is within the record of the tree: none if it has a
/// record of its own, and is only named here. \throws ObjectStream::Unexpected
[[nodiscard]] std::optional<BasketOfTree> parse_basket_of_tree(ObjectStream& from,
                                                               bool has_offsets);

}  // namespace forkrun::root_io
