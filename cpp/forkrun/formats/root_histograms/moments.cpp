#include <forkrun/formats/root_histograms/moments.hpp>

#include <cmath>

namespace forkrun::root_io {

namespace {

/// Of the bins without flow bins.
std::vector<double> centers_of(const AxisContent& axis) {
  std::vector<double> centers(axis.n_bins());
  if (!axis.labels.empty()) {
    return centers;
  }
  const auto& edges = axis.edges;
  const double width = (edges.back() - edges.front()) / static_cast<double>(axis.n_bins());
  for (std::size_t i = 0; i < centers.size(); ++i) {
    centers[i] = axis.has_equal_bins ? edges.front() + (static_cast<double>(i) + 0.5) * width
                                     : edges[i] + 0.5 * (edges[i + 1] - edges[i]);
  }
  return centers;
}

/// Of a histogram that has this axis; without it there is one cell, at 0.
struct AxisOfCells {
  AxisOfCells(const HistogramContent& content, std::size_t number)
      : exists{number < content.axes.size()},
        centers{exists ? centers_of(content.axes[number]) : std::vector<double>(1)},
        n_cells{exists ? content.axes[number].n_cells() : 1} {}

  [[nodiscard]] std::size_t cell(std::size_t bin) const { return exists ? bin + 1 : 0; }

  bool exists;
  std::vector<double> centers;
  std::size_t n_cells;
};

class SumOverCells {
 public:
  explicit SumOverCells(const HistogramContent& content)
      : weights_{content.weights()},
        squares_{content.squared_weights()},
        samples_{content.is_profile() ? content.samples() : Sums{}},
        squared_samples_{content.is_profile() ? content.squared_samples() : Sums{}},
        squares_errors_{!content.is_profile() && content.axes.size() != 2} {}

  void add(std::size_t cell, double x, double y, double z) {
    add_weight(weights_[cell], x, y, z);
    sum_.w2 += squared_weight(cell);
    if (!samples_.empty()) {
      sum_.ws += samples_[cell];
      sum_.ws2 += squared_samples_[cell];
    }
  }
  [[nodiscard]] const Moments& sum() const { return sum_; }

 private:
  void add_weight(double w, double x, double y, double z) {
    sum_.w += w;
    sum_.wx += w * x;
    sum_.wx2 += w * x * x;
    sum_.wy += w * y;
    sum_.wy2 += w * y * y;
    sum_.wxy += w * x * y;
    sum_.wz += w * z;
    sum_.wz2 += w * z * z;
    sum_.wxz += w * x * z;
    sum_.wyz += w * y * z;
  }

  /// Where no squares are kept, those of weights that are 1.
  [[nodiscard]] double squared_weight(std::size_t cell) const {
    const double square = squares_.empty() ? weights_[cell] : squares_[cell];
    if (!squares_errors_) {
      return square;
    }
    const double error = std::sqrt(squares_.empty() ? std::abs(square) : square);
    return error * error;
  }

  Sums weights_;
  Sums squares_;
  Sums samples_;
  Sums squared_samples_;
  bool squares_errors_;  ///< as ROOT does with one axis and three
  Moments sum_;
};

}  // namespace

Moments moments_of(const HistogramContent& content) {
  const AxisOfCells x{content, 0};
  const AxisOfCells y{content, 1};
  const AxisOfCells z{content, 2};
  SumOverCells cells{content};
  for (std::size_t k = 0; k < z.centers.size(); ++k) {
    for (std::size_t j = 0; j < y.centers.size(); ++j) {
      for (std::size_t i = 0; i < x.centers.size(); ++i) {
        const auto cell = x.cell(i) + x.n_cells * (y.cell(j) + y.n_cells * z.cell(k));
        cells.add(cell, x.centers[i], y.centers[j], z.centers[k]);
      }
    }
  }
  return cells.sum();
}

}  // namespace forkrun::root_io
