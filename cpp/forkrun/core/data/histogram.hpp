#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

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
/// bins; C order. Not thread-safe: an analyzer that fills one is called one block at a time.
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
  /// Product over axes of (n_bins + 2).
  [[nodiscard]] std::span<const double> values() const { return values_; }
  [[nodiscard]] std::span<const double> variances() const { return variances_; }

 private:
  std::string name_;
  std::string title_;
  std::vector<Axis> axes_;
  std::vector<double> values_;
  std::vector<double> variances_;
};

}  // namespace forkrun
