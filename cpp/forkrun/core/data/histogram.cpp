#include <forkrun/core/data/histogram.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

void check_axis(const std::string& histogram, const Axis& axis) {
  if (axis.n_bins == 0 || !(axis.low < axis.high)) {
    throw Error{"histogram \"" + histogram + "\": axis \"" + axis.name +
                "\" needs at least one bin and low < high"};
  }
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
    : name_{std::move(name)}, title_{std::move(title)}, axes_{std::move(axes)} {
  if (axes_.empty() || axes_.size() > 3) {
    throw Error{"histogram \"" + name_ + "\" needs 1 to 3 axes, not " +
                std::to_string(axes_.size())};
  }
  std::size_t n_cells = 1;
  for (const auto& axis : axes_) {
    check_axis(name_, axis);
    n_cells *= axis.n_bins + 2;
  }
  values_.resize(n_cells);
  variances_.resize(n_cells);
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
  values_[cell] += weight;
  variances_[cell] += weight * weight;
}

void Histogram::clear() {
  std::ranges::fill(values_, 0.0);
  std::ranges::fill(variances_, 0.0);
}

}  // namespace forkrun
