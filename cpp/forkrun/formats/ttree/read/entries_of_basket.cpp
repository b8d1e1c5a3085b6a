#include <forkrun/formats/ttree/read/unpacked_room.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun::root_io {

namespace {

void check_fixed(const Basket& basket, std::size_t n_entry_bytes) {
  if (basket.data.size() != static_cast<std::size_t>(basket.n_entries) * n_entry_bytes) {
    throw Error("its entries do not have one value each");
  }
}

/// Checks items of a power of two of bytes: several entries at a time, without a branch.
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

namespace {

std::vector<EntryRun> runs_in(const EntryRanks& ranks, const Basket& basket) {
  const auto end = basket.first_entry + basket.n_entries;
  std::vector<EntryRun> runs;
  for (auto first = ranks.next(basket.first_entry, end); first < end;) {
    const auto last = ranks.next_other(first, end);
    runs.push_back({first, last});
    first = ranks.next(last, end);
  }
  return runs;
}

void append(const Basket& from, const EntryRun& entries, UnpackedBasket& to) {
  const auto bytes = from.entries(entries.first, entries.last);
  if (!from.offsets.empty()) {
    const auto* at = from.offsets.data() + (entries.first - from.first_entry);
    const auto shift = static_cast<std::int32_t>(to.memory.size()) - *at;
    std::transform(at, at + (entries.last - entries.first), std::back_inserter(to.basket.offsets),
                   [&](auto offset) { return offset + shift; });
  }
  std::ranges::copy(bytes, to.memory.extend(bytes.size()));
}

}  // namespace

UnpackedBasket only(const EntryRanks& ranks, UnpackedBasket& from) {
  const auto& all = from.basket;
  const auto first_rank = ranks.rank(all.first_entry);
  const auto n_entries = ranks.rank(all.first_entry + all.n_entries) - first_rank;
  if (n_entries == all.n_entries) {
    from.basket.first_entry = first_rank;
    return std::exchange(from, {});
  }
  UnpackedBasket made;
  made.basket.first_entry = first_rank;
  made.basket.n_entries = n_entries;
  made.basket.entry_size = all.entry_size;
  const auto runs = runs_in(ranks, all);
  std::size_t n_bytes = 0;
  for (const auto& run : runs) {
    n_bytes += all.entries(run.first, run.last).size();
  }
  made.memory.reserve(n_bytes);
  if (!all.offsets.empty()) {
    made.basket.offsets.reserve(static_cast<std::size_t>(n_entries) + 1);
  }
  for (const auto& run : runs) {
    append(all, run, made);
  }
  if (!all.offsets.empty()) {
    made.basket.offsets.push_back(static_cast<std::int32_t>(n_bytes));
  }
  made.basket.data = std::as_const(made.memory).view();
  return made;
}

}  // namespace forkrun::root_io
