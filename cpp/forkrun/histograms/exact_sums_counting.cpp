#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include <forkrun/histograms/exact_sums.hpp>

namespace forkrun {

std::span<std::uint32_t> ExactSums::counts(std::uint64_t n_more) {
  if (n_counted_ + n_more > std::numeric_limits<std::uint32_t>::max()) {
    add_counts();
  }
  if (counts_.empty()) {
    counts_ = TableMemory<std::uint32_t>(n_cells_);
  }
  n_counted_ += n_more;
  return counts_.writable();
}

/// Adds the counts to the sums.
void ExactSums::add_counts() {
  if (n_counted_ == 0) {
    return;
  }
  if (words_.empty()) {
    make_words_of_counts();
  } else {
    std::vector<std::uint32_t> cells;
    std::vector<double> counted;
    for (std::uint32_t cell = 0; const auto count : counts_.values()) {
      if (count != 0) {
        cells.push_back(cell);
        counted.push_back(count);
      }
      ++cell;
    }
    std::array<const double*, most_sums> columns;
    columns.fill(counted.data());
    add(cells, std::span{columns}.first(n_sums_));
  }
  counts_ = {};
  n_counted_ = 0;
}

/// Counts are integers: one word for each sum holds them.
void ExactSums::make_words_of_counts() {
  const auto counts = counts_.values();
  n_words_ = 1;
  words_ = Words(n_cells_ * n_sums_);
  is_dense_ = true;
  n_adds_ = n_counted_;
  for (std::size_t k = 0; auto& word : words_.unshared()) {
    word = counts[k++ / n_sums_];
  }
  const auto n_bits = static_cast<int>(std::bit_width(n_counted_));
  std::ranges::fill(windows_, Window{.base = 0, .seen = {0, n_bits}});
}

ExactSums ExactSums::with_counts_added() const {
  ExactSums sums{*this};
  sums.add_counts();
  return sums;
}

void ExactSums::merge_counts(const ExactSums& other, std::size_t first) {
  if (other.n_counted_ == 0) {
    return;
  }
  if (other.n_counted_ > most_counted) {
    merge(other.with_counts_added(), first);
    return;
  }
  const auto added = other.counts_.values();
  const auto to = counts(other.n_counted_).subspan(first, added.size());
  std::ranges::transform(to, added, to.begin(), std::plus<>{});
}

}  // namespace forkrun
