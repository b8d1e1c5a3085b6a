#include <forkrun/formats/ttree/read/entry_check.hpp>

#include <bit>
#include <string>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

void check_fixed(const Basket& basket, std::size_t n_entry_bytes) {
  if (basket.data.size() != static_cast<std::size_t>(basket.n_entries) * n_entry_bytes) {
    throw Error("its entries do not have one value each");
  }
}

/// Of items of a power of two of bytes: several entries at a time, without a branch.
bool is_any_wrong(const Basket& basket, std::int32_t header, std::size_t n_item_bytes) {
  const auto* const offsets = basket.offsets.data();
  const auto wrong_bits = (1U << 31U) | (static_cast<unsigned>(n_item_bytes) - 1);
  unsigned wrong = 0;
  for (std::size_t i = 0; i + 1 < basket.offsets.size(); ++i) {
    wrong |= static_cast<unsigned>(offsets[i + 1] - offsets[i] - header) & wrong_bits;
  }
  return wrong != 0;
}

}  // namespace

void check_entries(const Basket& basket, const BranchLayout& layout) {
  if (!layout.column || layout.column->is_nested() || layout.form) {
    return;
  }
  const auto n_in_item = layout.column->n_in_item();
  const auto n_item_bytes = size_of(layout.column->element) * n_in_item;
  if (layout.column->shape == Shape::scalar) {
    return check_fixed(basket, n_item_bytes);
  }
  const auto header = static_cast<std::int32_t>(layout.header_bytes);
  if (std::has_single_bit(n_item_bytes) && !is_any_wrong(basket, header, n_item_bytes)) {
    return;
  }
  for (std::size_t i = 0; i + 1 < basket.offsets.size(); ++i) {
    const auto n_bytes = basket.offsets[i + 1] - basket.offsets[i] - header;
    if (n_bytes < 0 || n_bytes % static_cast<std::int32_t>(n_item_bytes) != 0) {
      throw Error("its entry " + std::to_string(i) + " does not have a whole number of " +
                  (n_in_item > 1 ? "arrays" : "values"));
    }
  }
}

}  // namespace forkrun::root_io
