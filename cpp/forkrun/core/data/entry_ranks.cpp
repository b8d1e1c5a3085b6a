#include <forkrun/core/data/entry_ranks.hpp>

#include <algorithm>
#include <string>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

void EntryRanks::add(std::int64_t first, std::int64_t last) {
  if (first < 0 || last > n_entries_) {
    throw Error("entries until " + std::to_string(last) + " of a file with " +
                std::to_string(n_entries_));
  }
  while (first < last) {
    const auto bit = static_cast<std::size_t>(first) % n_in_word;
    const auto n = std::min(n_in_word - bit, static_cast<std::size_t>(last - first));
    const auto ones = n == n_in_word ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    bits_[static_cast<std::size_t>(first) / n_in_word] |= ones << bit;
    first += static_cast<std::int64_t>(n);
  }
}

void EntryRanks::count() {
  std::int64_t n = 0;
  for (std::size_t word = 0; word < bits_.size(); ++word) {
    n_before_[word] = n;
    n += std::popcount(bits_[word]);
  }
}

std::int64_t EntryRanks::find(std::int64_t entry, std::int64_t last, std::uint64_t flipped) const {
  while (entry < last) {
    const auto bit = static_cast<std::size_t>(entry) % n_in_word;
    const auto rest = (bits_[static_cast<std::size_t>(entry) / n_in_word] ^ flipped) >> bit;
    if (rest != 0) {
      return std::min(last, entry + std::countr_zero(rest));
    }
    entry += static_cast<std::int64_t>(n_in_word - bit);
  }
  return last;
}

}  // namespace forkrun
