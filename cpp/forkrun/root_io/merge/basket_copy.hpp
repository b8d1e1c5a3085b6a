#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/root_io/basket.hpp>
#include <forkrun/root_io/merge/basket_check.hpp>
#include <forkrun/root_io/read/input_file.hpp>
#include <forkrun/root_io/write/output_file.hpp>

namespace forkrun::root_io {

/// A basket that is in the output, and not yet in its branch.
struct CopiedBasket {
  std::size_t branch{};
  std::int64_t first_entry{};  ///< in the input
  BasketHeader header;
  std::int64_t place{};
};

/// By branch and entry.
void sort_by_branch(std::vector<CopiedBasket>& baskets);

/// Copies baskets of a file as they are, in the order in which they lie there; each is checked
/// first. Gives them sorted by branch. `memory`: for what is read. \throws InputError,
/// OutputError
[[nodiscard]] std::vector<CopiedBasket> copy_baskets(InputFile& file, const BasketCheck& check,
                                                     std::vector<BasketPlace> baskets,
                                                     OutputFile& output, Bytes& memory);

}  // namespace forkrun::root_io
