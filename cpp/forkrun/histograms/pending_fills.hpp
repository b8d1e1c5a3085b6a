#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <forkrun/histograms/axes.hpp>
#include <forkrun/histograms/exact_fills.hpp>

namespace forkrun {

/// Numeric axes that no fill changes: bins can be found later, for many values at a time, in vector
/// instructions.
template <typename Axis>
concept NumberLine = std::is_same_v<Axis, RegularAxis> || std::is_same_v<Axis, VariableAxis> ||
                     std::is_same_v<Axis, IntegerAxis>;

/// Fills of one thread with bins still to be found: a column of values for each axis, and perhaps
/// one of weights and one of samples. The columns are at a constant distance, so that one pointer
/// gives the place of the next fill, and, as the first ends at a round address, whether it is full.
template <HistogramAxis... Axes>
class PendingFills {
 public:
  static constexpr bool is_possible = (NumberLine<Axes> && ...);
  static constexpr std::size_t most = 4096;

  /// `n_more`: 1 if fills have weights, 2 with samples as well; `n_at_a_time`: at most `most`
  PendingFills(std::size_t n_more, std::size_t n_at_a_time)
      : n_more_{n_more},
        n_at_a_time_{n_at_a_time},
        memory_{is_possible ? take_memory(n_more) : Memory{nullptr, nullptr}} {
    clear();
  }

  /// Whether it is full: `clear`. Checked after each `push`, which leaves some room.
  [[nodiscard]] bool is_full() const { return is_full(next_); }
  [[nodiscard]] static bool is_full(const std::byte* next) {
    return reinterpret_cast<std::uintptr_t>(next) % (most * value_bytes) == 0;
  }
  /// \pre not full
  template <typename... More>
  void push(typename Axes::Value... values, More... more) {
    next_ = put(next_, values..., more...);
  }
  /// \returns the place of the next fill
  template <typename... More>
  [[nodiscard]] static std::byte* put(std::byte* place, typename Axes::Value... values,
                                      More... more) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((column<typename Axes::Value>(place, I)[0] = values), ...);
    }(std::index_sequence_for<Axes...>{});
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((column<double>(place, n_axes + I)[0] = more), ...);
    }(std::index_sequence_for<More...>{});
    return place + value_bytes;
  }
  /// Lends the place of the next fill, until `take_back`: any other `push` meanwhile sees it full,
  /// without touching the kept fills.
  [[nodiscard]] std::byte* lend() { return std::exchange(next_, last()); }
  void take_back(std::byte* next) { next_ = next; }

  /// Places on the axes; these, weights and samples are valid until the next `push`.
  [[nodiscard]] std::array<FillAxis, sizeof...(Axes)> places(const std::tuple<Axes...>& axes) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{
          place(std::get<I>(axes), column<typename Axes::Value>(first(), I), bins_[I])...};
    }(std::index_sequence_for<Axes...>{});
  }
  [[nodiscard]] std::span<double> weights() { return {column<double>(first(), n_axes), size()}; }
  [[nodiscard]] double* samples() {  ///< null if there are none
    return n_more_ < 2 ? nullptr : column<double>(first(), n_axes + 1);
  }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(next_ - first()) / value_bytes;
  }
  void clear() { next_ = first(); }
  [[nodiscard]] std::byte* end() const { return memory_.get() + most * value_bytes; }
  [[nodiscard]] std::byte* first() const {
    return is_possible ? memory_.get() + (most - n_at_a_time_) * value_bytes : nullptr;
  }

 private:
  using Bins = std::unique_ptr<std::int32_t[]>;
  static constexpr std::size_t n_axes = sizeof...(Axes);
  static constexpr std::size_t value_bytes = 8;
  static_assert(!is_possible || ((sizeof(typename Axes::Value) == value_bytes) && ...));
  /// Columns begin at different offsets in pages of memory: otherwise they would lie in the same
  /// sets of the near cache.
  static constexpr std::size_t column_bytes = most * value_bytes + 192;

  using Memory = std::unique_ptr<std::byte[], void (*)(std::byte*)>;
  /// The system provides its pages at the first write.
  static Memory take_memory(std::size_t n_more) {
    constexpr std::align_val_t alignment{most * value_bytes};
    return {new (alignment) std::byte[column_bytes * (n_axes + n_more)],
            [](std::byte* memory) { ::operator delete[](memory, alignment); }};
  }
  [[nodiscard]] std::byte* last() const {
    return is_possible ? memory_.get() + (most - 1) * value_bytes : nullptr;
  }
  template <typename T>
  static T* column(std::byte* first, std::size_t number) {
    return reinterpret_cast<T*>(first + number * column_bytes);
  }
  template <typename Axis>
  FillAxis place(const Axis& axis, const typename Axis::Value* values, Bins& bins) {
    if constexpr (!std::is_same_v<Axis, IntegerAxis>) {
      if (!axis.is_circular()) {
        return axis.with(values);
      }
    }
    if (bins == nullptr) {
      bins = std::make_unique<std::int32_t[]>(n_at_a_time_);
    }
    for (std::size_t i = 0; i < size(); ++i) {
      bins[i] = axis.index(values[i]);
    }
    const auto about = axis.describe();
    return {.n_bins = static_cast<std::uint32_t>(about.n_bins()),
            .has_underflow = about.underflow,
            .has_overflow = about.overflow,
            .bins = bins.get()};
  }

  std::byte* next_{};
  std::size_t n_more_;
  std::size_t n_at_a_time_;
  Memory memory_;
  std::array<Bins, n_axes> bins_{};
};

}  // namespace forkrun
