#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <forkrun/histograms/exact_fills.hpp>

namespace forkrun {

/// Flow bins of an axis.
struct AxisOptions {
  bool underflow = true;
  bool overflow = true;   ///< if false the upper edge is in the last bin, as in boost-histogram
  bool circular = false;  ///< values wrap around; overflow is then for NaN
};

enum class AxisKind : std::uint8_t { regular, variable, integer, category };

/// An axis as described in files.
struct AxisDescription {
  AxisKind kind{};
  std::string title;
  /// (n_bins, low, high) of a regular axis, the edges of a variable one, (start, stop) of integers,
  /// numeric categories.
  std::vector<double> numbers{};
  std::vector<std::string> texts{};  ///< text categories
  bool underflow{};
  bool overflow{};
  bool grows{};              ///< fills may add categories
  std::size_t n_declared{};  ///< number of categories at booking

  [[nodiscard]] std::size_t n_bins() const;
  /// Number of bins including flow bins.
  [[nodiscard]] std::size_t extent() const { return n_bins() + underflow + overflow; }
  /// Problem of the axis; empty if it is valid.
  [[nodiscard]] std::string problem() const;
};

/// `n_bins` bins of equal width from `low` to `high`. Bins are those of boost-histogram, to the
/// last bit.
class RegularAxis {
 public:
  using Value = double;
  RegularAxis(std::uint32_t n_bins, double low, double high, std::string title = {},
              AxisOptions options = {});

  /// -1: underflow, n_bins: overflow.
  [[nodiscard]] std::int32_t index(double x) const {
    const double z = (x - low_) / width_;
    if (options_.circular) [[unlikely]] {
      return std::isfinite(z) ? bin_at(z - std::floor(z)) : n_bins_;
    }
    if (z < 1) {
      return z >= 0 ? bin_at(z) : -1;
    }
    return z == 1 && !options_.overflow ? n_bins_ - 1 : n_bins_;
  }
  [[nodiscard]] AxisDescription describe() const;
  [[nodiscard]] bool is_circular() const { return options_.circular; }
  /// \pre it is not circular
  [[nodiscard]] FillAxis with(const double* coordinates) const {
    return {.n_bins = static_cast<std::uint32_t>(n_bins_),
            .has_underflow = options_.underflow,
            .has_overflow = options_.overflow,
            .coordinates = coordinates,
            .low = low_,
            .width = width_};
  }

 private:
  [[nodiscard]] std::int32_t bin_at(double z) const {
    return static_cast<std::int32_t>(z * n_bins_);
  }

  double low_;
  double width_;
  std::int32_t n_bins_;
  AxisOptions options_;
  double high_;
  std::string title_;
};

/// Bins between increasing `edges`.
class VariableAxis {
 public:
  using Value = double;
  explicit VariableAxis(std::vector<double> edges, std::string title = {},
                        AxisOptions options = {});

  [[nodiscard]] std::int32_t index(double x) const {
    if (options_.circular) {
      const double range = edges_.back() - edges_.front();
      x -= std::floor((x - edges_.front()) / range) * range;
    }
    if (!options_.overflow && x == edges_.back()) {
      return static_cast<std::int32_t>(edges_.size()) - 2;
    }
    return static_cast<std::int32_t>(std::ranges::upper_bound(edges_, x) - edges_.begin()) - 1;
  }
  [[nodiscard]] AxisDescription describe() const;
  [[nodiscard]] bool is_circular() const { return options_.circular; }
  /// \pre it is not circular
  [[nodiscard]] FillAxis with(const double* coordinates) const {
    return {.n_bins = static_cast<std::uint32_t>(edges_.size()) - 1,
            .has_underflow = options_.underflow,
            .has_overflow = options_.overflow,
            .coordinates = coordinates,
            .edges = edges_.data()};
  }

 private:
  std::vector<double> edges_;
  AxisOptions options_;
  std::string title_;
};

/// A bin for each integer from `start` to `stop` - 1.
class IntegerAxis {
 public:
  using Value = std::int64_t;
  IntegerAxis(std::int32_t start, std::int32_t stop, std::string title = {},
              AxisOptions options = {});

  [[nodiscard]] std::int32_t index(std::int64_t n) const {
    if (options_.circular) {
      const std::int64_t rest = (n - start_) % (stop_ - start_);
      return static_cast<std::int32_t>(rest < 0 ? rest + (stop_ - start_) : rest);
    }
    return static_cast<std::int32_t>(std::clamp(n, start_ - 1, stop_) - start_);
  }
  [[nodiscard]] AxisDescription describe() const;

 private:
  std::int64_t start_;
  std::int64_t stop_;
  AxisOptions options_;
  std::string title_;
};

/// Whether fills may add categories to an axis.
enum class Growth : bool { fixed, growing };

/// A bin for each of some texts or numbers. Other values are in the overflow bin, or, on a growing
/// axis, become categories.
template <typename View, typename Key>
class CategoryAxis {
 public:
  using Value = View;
  explicit CategoryAxis(std::vector<Key> categories, std::string title = {},
                        Growth growth = Growth::fixed);

  /// n_bins: no category
  [[nodiscard]] std::int32_t index(View category) const {
    const auto found = places_.find(category);
    return found == places_.end() ? static_cast<std::int32_t>(categories_.size()) : found->second;
  }
  [[nodiscard]] bool grows() const { return growth_ == Growth::growing; }
  void append(View category);
  [[nodiscard]] AxisDescription describe() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(View category) const { return std::hash<View>{}(category); }
  };

  std::vector<Key> categories_;
  std::size_t n_declared_;
  std::unordered_map<Key, std::int32_t, Hash, std::equal_to<>> places_{};
  std::string title_;
  Growth growth_;
};
extern template class CategoryAxis<std::string_view, std::string>;
extern template class CategoryAxis<std::int32_t, std::int32_t>;
using TextAxis = CategoryAxis<std::string_view, std::string>;
using NumberAxis = CategoryAxis<std::int32_t, std::int32_t>;

/// Finds the bin of a value.
template <typename T>
concept HistogramAxis = requires(const T& axis, typename T::Value value) {
  { axis.index(value) } -> std::same_as<std::int32_t>;
  { axis.describe() } -> std::same_as<AxisDescription>;
};

}  // namespace forkrun
