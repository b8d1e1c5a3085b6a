#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/exact_sums.hpp>

namespace forkrun {

/// A regular axis with under- and overflow.
struct Axis {
  std::string name;
  std::size_t n_bins{};
  double low{};
  double high{};
  std::string title{};
};

/// Weighted counts over 1 to 3 regular axes: sums of weights and of squared weights, with flow
/// bins; C order. The sums are exact, so they do not depend on the order of fills. Not thread-safe:
/// an analyzer that fills one is called one block at a time, and nobody reads it meanwhile.
class Histogram {
 public:
  Histogram(std::string name, std::string title, std::vector<Axis> axes);

  /// One coordinate per axis. NaN counts as overflow.
  void fill(std::span<const double> coordinates, double weight = 1.0);
  void fill(double x, double weight = 1.0) { fill(std::span{&x, 1}, weight); }
  void clear();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] std::span<const Axis> axes() const { return axes_; }
  /// Product over axes of (n_bins + 2). Rounded when asked for; valid until the next fill.
  [[nodiscard]] std::span<const double> values() const { return rounded().first(counts_.size()); }
  [[nodiscard]] std::span<const double> variances() const { return rounded().last(counts_.size()); }
  /// Sums of weights and of their squares, cells in C order.
  [[nodiscard]] ExactSums sums() const;

 private:
  [[nodiscard]] std::span<const double> rounded() const;

  std::string name_;
  std::string title_;
  std::vector<Axis> axes_;
  std::vector<std::uint64_t> counts_{};  ///< fills with weight 1; these are not in `weighted_`
  ExactSums weighted_;
  mutable std::vector<double> rounded_{};  ///< empty: to be made
};

}  // namespace forkrun
