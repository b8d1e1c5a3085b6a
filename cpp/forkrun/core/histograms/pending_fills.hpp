#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <forkrun/core/data/exact_fills.hpp>
#include <forkrun/core/histograms/axes.hpp>

namespace forkrun {

/// Axes whose values are numbers, and which no fill changes: bins can be found later, of many
/// values at a time, in vector instructions.
template <typename Axis>
concept NumberLine = std::is_same_v<Axis, RegularAxis> || std::is_same_v<Axis, VariableAxis> ||
                     std::is_same_v<Axis, IntegerAxis>;

/// Fills of one thread whose bins are not found yet: a column of values for each axis, and perhaps
/// one of weights and one of samples.
template <HistogramAxis... Axes>
class PendingFills {
 public:
  explicit PendingFills(std::size_t most) : most_{most} {}

  /// \returns whether there is no place for another
  template <typename... More>
  [[nodiscard]] bool push(typename Axes::Value... values, More... more) {
    if (values_of_first() == nullptr) [[unlikely]] {
      make_room(sizeof...(More));
    }
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(values_)[n_] = values), ...);
    }(std::index_sequence_for<Axes...>{});
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((more_[I][n_] = more), ...);
    }(std::make_index_sequence<sizeof...(More)>{});
    return ++n_ == most_;
  }

  /// Where they are on the axes; valid until the next `push`. Empties it.
  [[nodiscard]] std::array<FillAxis, sizeof...(Axes)> take(const std::tuple<Axes...>& axes) {
    const std::size_t n = std::exchange(n_, 0);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{place(std::get<I>(axes), std::get<I>(values_).get(), bins_[I], n)...};
    }(std::index_sequence_for<Axes...>{});
  }
  [[nodiscard]] std::span<double> weights() { return {more_[0].get(), n_}; }
  [[nodiscard]] double* samples() { return more_[1].get(); }  ///< null unless there are any
  [[nodiscard]] std::size_t size() const { return n_; }
  void clear() { n_ = 0; }

 private:
  using Bins = std::unique_ptr<std::int32_t[]>;

  const void* values_of_first() const { return std::get<0>(values_).get(); }
  void make_room(std::size_t n_more) {
    values_ = {std::make_unique<typename Axes::Value[]>(most_)...};
    for (auto& column : std::span{more_}.first(n_more)) {
      column = std::make_unique<double[]>(most_);
    }
  }
  template <typename Axis>
  FillAxis place(const Axis& axis, const typename Axis::Value* values, Bins& bins, std::size_t n) {
    if constexpr (std::is_same_v<Axis, RegularAxis>) {
      if (!axis.is_circular()) {
        return axis.with(values);
      }
    }
    if (bins == nullptr) {
      bins = std::make_unique<std::int32_t[]>(most_);
    }
    for (std::size_t i = 0; i < n; ++i) {
      bins[i] = axis.index(values[i]);
    }
    const auto about = axis.describe();
    return {.n_bins = static_cast<std::uint32_t>(about.n_bins()),
            .has_underflow = about.underflow,
            .has_overflow = about.overflow,
            .bins = bins.get()};
  }

  std::size_t most_;
  std::size_t n_{};
  std::tuple<std::unique_ptr<typename Axes::Value[]>...> values_{};
  std::array<std::unique_ptr<double[]>, 2> more_{};  ///< weights, samples
  std::array<Bins, sizeof...(Axes)> bins_{};
};

}  // namespace forkrun
