#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <forkrun/histograms/histogram_with_axes.hpp>

namespace forkrun {

/// A histogram of weights: `construction.book("mass", "m", RegularAxis{…})`.
template <HistogramAxis... Axes>
class HistogramOf final : public HistogramWithAxes<Axes...> {
  using Self = HistogramWithAxes<Axes...>;

 public:
  HistogramOf(const std::string& name, const std::string& title, Axes... axes)
      : Self{name, title, Moments::weights, std::move(axes)...} {}

  void fill(typename Axes::Value... values) {
    auto& slot = this->slot();
    if constexpr (Self::defers) {
      slot.counted.push(values...);
      if (slot.counted.is_full()) [[unlikely]] {
        slot.flush_counted();
      }
    } else {
      slot.count_at_once(values...);
    }
  }
  void fill(typename Axes::Value... values, double weight) {
    auto& slot = this->slot();
    if constexpr (Self::defers) {
      slot.added.push(values..., weight);
      if (slot.added.is_full()) [[unlikely]] {
        slot.flush_added();
      }
    } else {
      slot.add_at_once(values..., weight);
    }
  }
  /// Fills in a loop, a third faster: a local variable before the loop; until it ends nothing else
  /// in this thread may fill the histogram.
  class Filler {
   public:
    explicit Filler(HistogramOf& histogram) : loop_{histogram} {}
    void fill(typename Axes::Value... values) { loop_.count(values...); }
    void fill(typename Axes::Value... values, double weight) { loop_.add(values..., weight); }

   private:
    typename Self::Loop loop_;
  };
  [[nodiscard]] Filler filler() { return Filler{*this}; }
  /// Takes a column for each axis, and one of weights if there is one more: anything with `size()`
  /// and `[]`.
  template <typename... Columns>
    requires(sizeof...(Columns) == sizeof...(Axes) || sizeof...(Columns) == sizeof...(Axes) + 1)
  void fill_columns(const Columns&... columns) {
    const std::size_t n = this->size_of(columns...);
    Filler fills{*this};
    for (std::size_t i = 0; i < n; ++i) {
      fills.fill(columns[i]...);
    }
  }
  /// Takes a weight for each entry and category of the last axis, which must not grow; columns are
  /// for the other axes, whose bins are found once. The sums are those of a fill for each category.
  /// \throws Error unless there are as many columns of weights as categories
  template <typename... Columns>
    requires(sizeof...(Columns) + 1 == sizeof...(Axes))
  void fill_variations(WeightMatrix weights, const Columns&... columns) {
    auto& slot = this->slot();
    this->check_variations(weights, columns...);
    for (std::size_t i = 0; i < weights.n_entries(); ++i) {
      const auto cell = Self::find_first_cell(slot, columns[i]...);
      const std::uint32_t stride = Self::stride_of_last(slot);  // after axes have grown
      const auto of_entry = weights.of_entry(i);
      for (std::uint32_t v = 0; cell != Self::outside && v < of_entry.size(); ++v) {
        slot.filler.add(cell + v * stride, of_entry[v]);
      }
    }
  }

 protected:
  void fill_numbers(std::span<const double> coordinates, double weight) override {
    if constexpr ((std::constructible_from<typename Axes::Value, double> && ...)) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        fill(static_cast<typename Axes::Value>(coordinates[I])..., weight);
      }(Self::each_axis());
    } else {
      this->refuse("it has an axis of texts, and is filled with numbers");
    }
  }
};

/// Means of samples, by bin: a TProfile in the file.
template <HistogramAxis... Axes>
class ProfileOf final : public HistogramWithAxes<Axes...> {
  using Self = HistogramWithAxes<Axes...>;

 public:
  ProfileOf(const std::string& name, const std::string& title, Axes... axes)
      : Self{name, title, Moments::weighted_means, std::move(axes)...} {}

  void fill(typename Axes::Value... values, double sample) { fill(values..., sample, 1.0); }
  void fill(typename Axes::Value... values, double sample, double weight) {
    auto& slot = this->slot();
    if constexpr (Self::defers) {
      slot.added.push(values..., weight, sample);
      if (slot.added.is_full()) [[unlikely]] {
        slot.flush_added();
      }
    } else {
      slot.add_at_once(values..., weight, sample);
    }
  }
  /// Like `HistogramOf::Filler`.
  class Filler {
   public:
    explicit Filler(ProfileOf& profile) : loop_{profile} {}
    void fill(typename Axes::Value... values, double sample) { fill(values..., sample, 1.0); }
    void fill(typename Axes::Value... values, double sample, double weight) {
      loop_.add(values..., weight, sample);
    }

   private:
    typename Self::Loop loop_;
  };
  [[nodiscard]] Filler filler() { return Filler{*this}; }
  /// Takes a column for each axis, one of samples, and one of weights if there is one more.
  template <typename... Columns>
    requires(sizeof...(Columns) == sizeof...(Axes) + 1 || sizeof...(Columns) == sizeof...(Axes) + 2)
  void fill_columns(const Columns&... columns) {
    const std::size_t n = this->size_of(columns...);
    Filler fills{*this};
    for (std::size_t i = 0; i < n; ++i) {
      fills.fill(columns[i]...);
    }
  }

 protected:
  void fill_numbers(std::span<const double> /*coordinates*/, double /*weight*/) override {
    this->refuse("it is a profile, and is filled without samples");
  }
};

}  // namespace forkrun
