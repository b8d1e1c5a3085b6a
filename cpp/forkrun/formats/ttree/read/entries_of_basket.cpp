#include <forkrun/formats/ttree/read/entries_of_basket.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun::root_io {

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
