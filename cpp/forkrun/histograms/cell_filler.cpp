#include <forkrun/histograms/cell_filler.hpp>

#include <numeric>
#include <utility>

namespace forkrun {

namespace {

/// Fills of a small table stay in the nearest cache together with it: 10 % less time.
constexpr std::size_t most_small_cells = 1024;
constexpr std::size_t most_of_small_table = 1024;

std::size_t best_at_a_time(const CellTable& own) {
  return own.n_cells() <= most_small_cells ? most_of_small_table : CellFiller::most_at_a_time;
}

}  // namespace

CellFiller::CellFiller(Moments moments, CellTable& own)
    : CellFiller{moments, &own, nullptr, best_at_a_time(own)} {}

CellFiller::CellFiller(Moments moments, SharedTable& shared, std::size_t n_at_a_time)
    : CellFiller{moments, nullptr, &shared, n_at_a_time} {}

CellFiller::CellFiller(Moments moments, CellTable* own, SharedTable* shared, std::size_t limit)
    : own_{own},
      shared_{shared},
      limit_{limit},
      counted_{std::make_unique_for_overwrite<std::uint32_t[]>(limit)},
      cells_{std::make_unique_for_overwrite<std::uint32_t[]>(limit)},
      weights_{std::make_unique_for_overwrite<double[]>(limit)},
      samples_{has_samples(moments) ? std::make_unique_for_overwrite<double[]>(limit) : nullptr} {}

void CellFiller::flush_counted() {
  if (const std::size_t n = std::exchange(n_counted_, 0); n > 0) {
    const auto cells = std::span{counted_.get(), n};
    own_ != nullptr ? own_->count(cells) : count_shared(cells);
  }
}

void CellFiller::flush_added() {
  if (const std::size_t n = std::exchange(n_, 0); n > 0) {
    const CellFills fills{{cells_.get(), n}, weights_.get(), samples_.get()};
    own_ != nullptr ? own_->add(fills) : add_shared(fills);
  }
}

void CellFiller::count(std::span<const FillAxis> axes, std::size_t n_entries) {
  if (own_ != nullptr) {
    return own_->fill(axes, {}, {}, n_entries);
  }
  found_cells_.resize(n_entries);
  count_shared(std::span{found_cells_}.first(find_cells(axes, found_cells_, nullptr, nullptr)));
}

void CellFiller::add(std::span<const FillAxis> axes, std::span<double> weights, double* samples) {
  if (own_ != nullptr) {
    return own_->fill(axes, {weights.data()}, {samples}, weights.size());
  }
  found_cells_.resize(weights.size());
  const std::size_t n = find_cells(axes, found_cells_, weights.data(), samples);
  add_shared({std::span{found_cells_}.first(n), weights.data(), samples});
}

void CellFiller::count_shared(std::span<const std::uint32_t> cells) {
  find_starts(cells);
  sorted_cells_.resize(cells.size());
  auto* const sorted = sorted_cells_.data();
  auto* const ends = ends_.data();
  const auto stripes = shared_->stripes();
  for (const auto cell : cells) {
    sorted[ends[stripes.number_of(cell)]++] = cell;
  }
  shared_->count(sorted_cells_, ends_);
}

void CellFiller::add_shared(const CellFills& fills) {
  const std::size_t n = fills.cells.size();
  find_starts(fills.cells);
  sorted_cells_.resize(n);
  sorted_weights_.resize(n);
  sorted_samples_.resize(fills.samples == nullptr ? 0 : n);
  auto* const cells = sorted_cells_.data();
  auto* const weights = sorted_weights_.data();
  auto* const samples = sorted_samples_.data();
  auto* const ends = ends_.data();
  const auto stripes = shared_->stripes();
  for (std::size_t i = 0; i < n; ++i) {
    const auto place = ends[stripes.number_of(fills.cells[i])]++;
    cells[place] = fills.cells[i];
    weights[place] = fills.weights[i];
    if (fills.samples != nullptr) {
      samples[place] = fills.samples[i];
    }
  }
  shared_->add({sorted_cells_, sorted_weights_.data(),
                fills.samples == nullptr ? nullptr : sorted_samples_.data()},
               ends_);
}

/// Begins of stripes in the sorted fills; sorting turns them into ends.
void CellFiller::find_starts(std::span<const std::uint32_t> cells) {
  const auto stripes = shared_->stripes();
  ends_.assign(stripes.n, 0);
  auto* const n_of = ends_.data();
  for (const auto cell : cells) {
    ++n_of[stripes.number_of(cell)];
  }
  std::exclusive_scan(ends_.begin(), ends_.end(), ends_.begin(), std::uint32_t{0});
}

}  // namespace forkrun
