#include <forkrun/core/histograms/cell_table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace forkrun {

namespace {

/// Smaller stripes would only cost locks.
constexpr std::size_t fewest_cells = 64;
constexpr std::size_t most_at_a_time = 2048;

/// What `fill_sums` does of weights whose cells are known.
void add_weights(ExactSums& sums, const CellFills& fills) {
  std::array<double, most_at_a_time> squares;
  for (std::size_t first = 0; first < fills.cells.size(); first += squares.size()) {
    const std::size_t n = std::min(squares.size(), fills.cells.size() - first);
    const double* const weights = fills.weights + first;
    for (std::size_t i = 0; i < n; ++i) {
      squares[i] = weights[i] * weights[i];
    }
    sums.add(fills.cells.subspan(first, n), std::array{weights, std::as_const(squares).data()});
  }
}

}  // namespace

CellTable::CellTable(Moments moments, std::size_t n_cells)
    : moments_{moments}, weighted_{n_sums_of(moments), n_cells} {}

CellTable::CellTable(Moments moments, ExactSums sums)
    : moments_{moments}, weighted_{std::move(sums)} {}

void CellTable::fill(std::span<const FillAxis> axes, FillColumn weights, FillColumn samples,
                     std::size_t n_entries) {
  constexpr double one = 1;
  const bool has_weights = weights.values != nullptr || weights.floats != nullptr;
  if (has_weights || n_sums_of(moments_) > 2) {
    fill_sums(weighted_, moments_, axes, has_weights ? weights : FillColumn{&one, true}, samples,
              n_entries);
  } else if (n_entries > 0) {
    count_entries({counts(), n_cells()}, axes, n_entries);
  }
}

std::size_t CellTable::n_bytes(Moments moments, std::size_t n_cells) {
  return n_cells * (n_sums_of(moments) * 2 * sizeof(std::uint64_t) + sizeof(std::uint64_t));
}

std::uint64_t* CellTable::counts() {
  counts_.resize(n_cells());
  return counts_.data();
}

void CellTable::count(std::span<const std::uint32_t> cells) {
  auto* const counts = this->counts();
  for (const auto cell : cells) {
    ++counts[cell];
  }
}

void CellTable::add(const CellFills& fills) {
  if (moments_ == Moments::weights) {
    return add_weights(weighted_, fills);
  }
  const auto* const bins = reinterpret_cast<const std::int32_t*>(fills.cells.data());
  const FillAxis axis{.n_bins = static_cast<std::uint32_t>(n_cells()), .bins = bins};
  fill_sums(weighted_, moments_, {&axis, 1}, {fills.weights, false}, {fills.samples, false},
            fills.cells.size());
}

void CellTable::clear_cell(std::size_t cell) {
  weighted_.clear_cell(cell);
  if (!counts_.empty()) {
    counts_[cell] = 0;
  }
}

void CellTable::move_cells(std::span<const std::uint32_t> places, std::size_t n_cells) {
  weighted_.move_cells(places, n_cells);
  if (!counts_.empty()) {
    std::vector<std::uint64_t> moved(n_cells);
    for (std::size_t cell = 0; cell < counts_.size(); ++cell) {
      moved[places[cell]] = counts_[cell];
    }
    counts_ = std::move(moved);
  }
}

void CellTable::clear() {
  weighted_.clear();
  counts_.clear();
}

/// A weight of 1 has the square 1.
ExactSums CellTable::total() const {
  ExactSums sums{weighted_};
  std::vector<std::uint32_t> cells;
  std::vector<double> counts;
  for (std::size_t cell = 0; cell < counts_.size(); ++cell) {
    if (counts_[cell] != 0) {
      cells.push_back(static_cast<std::uint32_t>(cell));
      counts.push_back(static_cast<double>(counts_[cell]));
    }
  }
  if (!cells.empty()) {
    const std::array<const double*, 2> columns{counts.data(), counts.data()};
    sums.add(cells, std::span{columns}.first(sums.n_sums()));
  }
  return sums;
}

SharedTable::SharedTable(Moments moments, std::size_t n_cells)
    : n_sums_{n_sums_of(moments)}, n_cells_{n_cells} {
  const std::size_t wanted = std::max(fewest_cells, (n_cells + most_stripes - 1) / most_stripes);
  const std::size_t n_each = std::bit_ceil(wanted);
  shift_ = static_cast<unsigned>(std::countr_zero(n_each));
  for (std::size_t first = 0; first < n_cells; first += n_each) {
    stripes_.push_back(std::make_unique<Stripe>(moments, std::min(n_each, n_cells - first)));
  }
}

void SharedTable::make_local(std::span<std::uint32_t> cells) const {
  const std::uint32_t mask = (std::uint32_t{1} << shift_) - 1;
  for (auto& cell : cells) {
    cell &= mask;
  }
}

void SharedTable::count(std::size_t stripe, std::span<std::uint32_t> cells) {
  make_local(cells);
  auto& [mutex, table] = *stripes_[stripe];
  const std::scoped_lock lock{mutex};
  table.count(cells);
}

void SharedTable::add(std::size_t stripe, std::span<std::uint32_t> cells, const double* weights,
                      const double* samples) {
  make_local(cells);
  auto& [mutex, table] = *stripes_[stripe];
  const std::scoped_lock lock{mutex};
  table.add({cells, weights, samples});
}

void SharedTable::clear() {
  for (const auto& stripe : stripes_) {
    stripe->table.clear();
  }
}

ExactSums SharedTable::total() const {
  ExactSums sums{n_sums_, n_cells_};
  for (std::size_t s = 0; s < stripes_.size(); ++s) {
    sums.merge(stripes_[s]->table.total(), s << shift_);
  }
  return sums;
}

}  // namespace forkrun
