#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// A basket that is in the output, and not yet in its branch.
struct CopiedBasket {
  std::size_t branch{};
  std::int64_t first_entry{};  ///< in the input
  BasketHeader header;
  std::int64_t place{};
  std::uint32_t ends{};  ///< of what it holds, before it was written
};

/// Those on file, by place: read in the order in which they lie.
[[nodiscard]] std::vector<BasketPlace> on_file(std::span<const BasketPlace> places);

/// Checks all baskets of a tree on file. Gives whether one has the key of a small file.
/// \throws InputError
bool check_all(TreeFile& file, const BasketCheck& check, Bytes& memory);

/// By branch and entry.
void sort_by_branch(std::vector<CopiedBasket>& baskets);

/// Copies baskets of a file as they are, in the order in which they lie there; each is checked
/// first. Gives them sorted by branch. `memory`: for what is read. \throws InputError,
/// OutputError
[[nodiscard]] std::vector<CopiedBasket> copy_baskets(TreeFile& file, const BasketCheck& check,
                                                     std::vector<BasketPlace> baskets,
                                                     RecordFile& output, Bytes& memory);

}  // namespace forkrun::root_io
