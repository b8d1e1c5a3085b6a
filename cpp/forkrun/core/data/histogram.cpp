#include <forkrun/core/data/histogram.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

constexpr std::size_t most_cells = 1'000'000'000;

void check_axis(const std::string& histogram, const Axis& axis) {
  if (axis.n_bins == 0 || !(axis.low < axis.high)) {
    throw Error{"histogram \"" + histogram + "\": axis \"" + axis.name +
                "\" needs at least one bin and low < high"};
  }
}

std::size_t n_cells_of(const std::string& histogram, std::span<const Axis> axes) {
  std::size_t n_cells = 1;
  for (const auto& axis : axes) {
    if (axis.n_bins > most_cells / n_cells) {
      throw Error{"histogram \"" + histogram + "\" has more than " + std::to_string(most_cells) +
                  " bins"};
    }
    n_cells *= axis.n_bins + 2;
  }
  return n_cells;
}

/// 0 is underflow, n_bins + 1 overflow. The arithmetic is that of boost-histogram's regular axis,
/// so that both put a value at the edge of a bin into the same one.
std::size_t bin_of(const Axis& axis, double x) {
  const double position = (x - axis.low) / (axis.high - axis.low);
  if (position < 0) {
    return 0;
  }
  if (position < 1) {
    return 1 + static_cast<std::size_t>(position * static_cast<double>(axis.n_bins));
  }
  return axis.n_bins + 1;
}

}  // namespace

Histogram::Histogram(std::string name, std::string title, std::vector<Axis> axes)
    : name_{std::move(name)},
      title_{std::move(title)},
      axes_{std::move(axes)},
      weighted_{2, n_cells_of(name_, axes_)} {
  if (axes_.empty() || axes_.size() > 3) {
    throw Error{"histogram \"" + name_ + "\" needs 1 to 3 axes, not " +
                std::to_string(axes_.size())};
  }
  for (const auto& axis : axes_) {
    check_axis(name_, axis);
  }
  counts_.resize(weighted_.n_cells());
}

void Histogram::fill(std::span<const double> coordinates, double weight) {
  if (coordinates.size() != axes_.size()) {
    throw Error{"histogram \"" + name_ + "\" has " + std::to_string(axes_.size()) +
                " axes, but is filled with " + std::to_string(coordinates.size()) + " coordinates"};
  }
  std::size_t cell = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    cell = cell * (axes_[i].n_bins + 2) + bin_of(axes_[i], coordinates[i]);
  }
  rounded_.clear();
  if (weight == 1.0) {
    ++counts_[cell];
  } else {
    weighted_.add(cell, std::array{weight, weight * weight});
  }
}

void Histogram::clear() {
  std::ranges::fill(counts_, 0);
  weighted_.clear();
  rounded_.clear();
}

ExactSums Histogram::sums() const {
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
    sums.add(cells, std::array<const double*, 2>{counts.data(), counts.data()});
  }
  return sums;
}

std::span<const double> Histogram::rounded() const {
  if (rounded_.empty()) {
    rounded_ = sums().rounded();
  }
  return rounded_;
}

}  // namespace forkrun
