#include <forkrun/core/histograms/cell_filler.hpp>

#include <numeric>
#include <utility>

namespace forkrun {

namespace {

constexpr std::size_t n_for_own_table = 512;
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
  sort_by_stripe(cells);
  in_order(counted_, n, sorted_cells_);
  for_each_stripe([this](std::size_t stripe, std::size_t first, std::size_t size) {
    shared_->count(stripe, std::span{sorted_cells_}.subspan(first, size));
  });
}

void CellFiller::flush_added() {
  const std::size_t n = std::exchange(n_, 0);
  if (n == 0) {
    return;
  }
  const auto cells = std::span{cells_}.first(n);
  if (own_ != nullptr) {
    own_->add({cells, weights_.data(), samples_.data()});
    return;
  }
  sort_by_stripe(cells);
  in_order(cells_, n, sorted_cells_);
  const double* const weights = in_order(weights_, n, sorted_weights_);
  const double* const samples = samples_.empty() ? nullptr : in_order(samples_, n, sorted_samples_);
  for_each_stripe([&](std::size_t stripe, std::size_t first, std::size_t size) {
    shared_->add(stripe, std::span{sorted_cells_}.subspan(first, size), weights + first,
                 samples == nullptr ? nullptr : samples + first);
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
const T* CellFiller::in_order(const std::vector<T>& values, std::size_t n,
                              std::vector<T>& sorted) const {
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
