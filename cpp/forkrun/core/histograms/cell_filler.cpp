#include <forkrun/core/histograms/cell_filler.hpp>

#include <numeric>
#include <utility>

namespace forkrun {

namespace {

constexpr std::size_t n_for_own_table = 1024;
/// Larger tables leave the cache: counts are better brought many at a time, as misses then overlap.
constexpr std::size_t most_cells_in_cache = 1 << 15;

}  // namespace

CellFiller::CellFiller(Moments moments, CellTable& own)
    : CellFiller{moments, &own, nullptr, n_for_own_table} {}

CellFiller::CellFiller(Moments moments, SharedTable& shared, std::size_t n_at_a_time)
    : CellFiller{moments, nullptr, &shared, n_at_a_time} {}

CellFiller::CellFiller(Moments moments, CellTable* own, SharedTable* shared, std::size_t limit)
    : own_{own},
      shared_{shared},
      limit_{limit},
      counted_(limit),
      cells_(limit),
      weights_(limit),
      samples_(moments == Moments::weighted_means ? limit : 0) {}

void CellFiller::clear() {
  n_counted_ = 0;
  n_ = 0;
  counts_ = nullptr;
}

void CellFiller::flush_counted() {
  const std::size_t n = std::exchange(n_counted_, 0);
  if (n == 0) {
    return;
  }
  const auto cells = std::span{counted_}.first(n);
  if (own_ != nullptr) {
    own_->count(cells);
    counts_ = own_->n_cells() <= most_cells_in_cache ? own_->counts() : nullptr;
    return;
  }
  count_shared(cells);
}

void CellFiller::flush_added() {
  const std::size_t n = std::exchange(n_, 0);
  if (n == 0) {
    return;
  }
  const auto cells = std::span{cells_}.first(n);
  const double* const samples = samples_.empty() ? nullptr : samples_.data();
  own_ != nullptr ? own_->add({cells, weights_.data(), samples})
                  : add_shared(cells, weights_.data(), samples);
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
  add_shared(std::span{found_cells_}.first(n), weights.data(), samples);
}

void CellFiller::count_shared(std::span<const std::uint32_t> cells) {
  sort_by_stripe(cells);
  in_order(cells.data(), cells.size(), sorted_cells_);
  for_each_stripe([this](std::size_t stripe, std::size_t first, std::size_t size) {
    shared_->count(stripe, std::span{sorted_cells_}.subspan(first, size));
  });
}

void CellFiller::add_shared(std::span<const std::uint32_t> cells, const double* weights,
                            const double* samples) {
  const std::size_t n = cells.size();
  sort_by_stripe(cells);
  in_order(cells.data(), n, sorted_cells_);
  const double* const sorted_weights = in_order(weights, n, sorted_weights_);
  const double* const sorted_samples =
      samples == nullptr ? nullptr : in_order(samples, n, sorted_samples_);
  for_each_stripe([&](std::size_t stripe, std::size_t first, std::size_t size) {
    shared_->add(stripe, std::span{sorted_cells_}.subspan(first, size), sorted_weights + first,
                 sorted_samples == nullptr ? nullptr : sorted_samples + first);
  });
}

/// Finds `places_` and `ends_`.
void CellFiller::sort_by_stripe(std::span<const std::uint32_t> cells) {
  ends_.assign(shared_->n_stripes(), 0);
  for (const auto cell : cells) {
    ++ends_[shared_->stripe_of(cell)];
  }
  std::exclusive_scan(ends_.begin(), ends_.end(), ends_.begin(), std::uint32_t{0});
  places_.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    places_[i] = ends_[shared_->stripe_of(cells[i])]++;
  }
}

template <typename T>
const T* CellFiller::in_order(const T* values, std::size_t n, std::vector<T>& sorted) const {
  sorted.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    sorted[places_[i]] = values[i];
  }
  return sorted.data();
}

/// `call`: with a stripe, the first of its fills and their number.
template <typename Call>
void CellFiller::for_each_stripe(const Call& call) const {
  std::size_t first = 0;
  for (std::size_t stripe = 0; stripe < ends_.size(); ++stripe) {
    if (ends_[stripe] > first) {
      call(stripe, first, ends_[stripe] - first);
    }
    first = ends_[stripe];
  }
}

}  // namespace forkrun
