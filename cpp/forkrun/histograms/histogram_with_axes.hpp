#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/histograms/axes.hpp>
#include <forkrun/histograms/cell_filler.hpp>
#include <forkrun/histograms/cell_table.hpp>
#include <forkrun/histograms/histogram.hpp>
#include <forkrun/histograms/pending_fills.hpp>
#include <forkrun/histograms/table_memory.hpp>

namespace forkrun {

/// Common part of `HistogramOf` and `ProfileOf`: axes of known types, and the fills of each thread.
template <HistogramAxis... Axes>
class HistogramWithAxes : public Histogram {
  static_assert(sizeof...(Axes) > 0, "a histogram needs an axis");

 public:
  void clear() override;
  [[nodiscard]] std::vector<Part> parts() override;

 protected:
  static constexpr std::size_t n_axes = sizeof...(Axes);
  static constexpr std::uint32_t outside = std::numeric_limits<std::uint32_t>::max();

  /// Whether bins are found in batches.
  static constexpr bool defers = PendingFills<Axes...>::is_possible;

  struct Slot;
  class Loop;

  HistogramWithAxes(const std::string& name, const std::string& title, Moments moments,
                    Axes... axes);
  /// For the calling thread.
  [[nodiscard]] Slot& slot() {
    Slot* const slot = slot_of_thread_[claimed_thread_number];
    return slot != nullptr ? *slot : find_slot();
  }
  /// `outside` if the values are in a missing flow bin. `values`: by axis
  template <typename... Values>
  [[nodiscard]] static std::uint32_t find_cell(Slot& slot, Values... values);
  /// \throws Error unless all have as many elements
  template <typename... Columns>
  std::size_t size_of(const Columns&... columns) const;
  /// \throws Error unless `weights` has as many entries as the columns, and as many variations as
  /// the last axis has categories, which must not grow
  template <typename... Columns>
  void check_variations(WeightMatrix weights, const Columns&... columns) const;
  /// Cell of the first category of the last axis. `values`: for the other axes
  template <typename... Values>
  [[nodiscard]] static std::uint32_t find_first_cell(Slot& slot, Values... values);
  [[nodiscard]] static std::uint32_t stride_of_last(const Slot& slot) {
    return slot.layout.back().stride;
  }
  [[nodiscard]] static constexpr auto each_axis() { return std::make_index_sequence<n_axes>{}; }

 private:
  struct Place {
    std::uint32_t offset;  ///< 1 if there is an underflow
    std::uint32_t extent;
    std::uint32_t stride;
  };
  using Layout = std::array<Place, n_axes>;

  [[nodiscard]] static std::vector<AxisDescription> describe(const std::tuple<Axes...>& axes);
  [[nodiscard]] static Layout layout_of(const std::tuple<Axes...>& axes);
  [[nodiscard]] static std::size_t n_cells_of(const Layout& layout);
  void make_room_for_threads() override;
  Slot& find_slot();
  void make_slot(std::size_t number);
  void forget_slots() { slot_of_thread_.fill(nullptr); }
  template <std::size_t I, typename Value>
  static std::uint32_t find_bin(Slot& slot, Value value);
  template <std::size_t I, typename Value>
  static void grow(Slot& slot, Value value);

  std::tuple<Axes...> declared_;
  bool grows_;
  std::optional<SharedTable> shared_{};
  std::vector<std::unique_ptr<Slot>> slots_;
  /// By number of the thread, 0 for threads without one; null until the thread fills.
  std::array<Slot*, most_threads + 2> slot_of_thread_{};
};

/// Fills of one thread. Its axes have the categories that this thread has seen.
template <HistogramAxis... Axes>
struct HistogramWithAxes<Axes...>::Slot {
  Slot(const HistogramWithAxes& of, SharedTable* shared, std::size_t n_at_a_time)
      : histogram{of},
        axes{of.declared_},
        layout{layout_of(axes)},
        own{of.moments(), n_cells_of(layout)},
        filler{shared == nullptr ? CellFiller{of.moments(), own}
                                 : CellFiller{of.moments(), *shared, n_at_a_time}},
        counted{0, filler.n_at_a_time()},
        added{has_samples(of.moments()) ? 2U : 1U, filler.n_at_a_time()} {}

  /// Fills whose bins are found at once, as their axes do not allow to defer it.
  void count_at_once(typename Axes::Value... values) {
    if (const auto cell = find_cell(*this, values...); cell != outside) {
      filler.count(cell);
    }
  }
  void add_at_once(typename Axes::Value... values, double weight) {
    if (const auto cell = find_cell(*this, values...); cell != outside) {
      weight == 1.0 ? filler.count(cell) : filler.add(cell, weight);
    }
  }
  void add_at_once(typename Axes::Value... values, double weight, double sample) {
    if (const auto cell = find_cell(*this, values...); cell != outside) {
      filler.add(cell, weight, sample);
    }
  }

  void flush_counted() {
    check_that_none_fills();
    const auto places = counted.places(axes);
    const std::size_t n = counted.size();
    counted.clear();  // first: the next calls may throw
    filler.count(places, n);
  }
  void flush_added() {
    check_that_none_fills();
    const auto places = added.places(axes);
    const auto weights = added.weights();
    added.clear();
    filler.add(places, weights, added.samples());
  }
  void flush() {
    if constexpr (defers) {
      if (counted.size() > 0) {
        flush_counted();
      }
      if (added.size() > 0) {
        flush_added();
      }
    }
    filler.flush();
  }
  void clear() {
    check_that_none_fills();
    counted.clear();
    added.clear();
    filler.clear();
    own.clear();
  }
  /// \throws Error if a loop has the places of fills
  void check_that_none_fills() {
    if (loop_fills) {
      static_cast<void>(counted.lend());  // as before the exception
      static_cast<void>(added.lend());
      histogram.refuse(
          "it is filled, or read, while a filler of it exists in this thread: fill it"
          " through that, and let it end with its loop");
    }
  }

  const HistogramWithAxes& histogram;
  std::tuple<Axes...> axes;
  Layout layout;
  CellTable own;  ///< empty if the table is shared
  CellFiller filler;
  PendingFills<Axes...> counted;  ///< fills of weight 1
  PendingFills<Axes...> added;
  bool loop_fills = false;
};

/// Fills in a loop in one thread. It keeps in registers what each single fill looks up: the
/// thread's slot, and the place of the next fill. Meanwhile nothing else of this thread fills.
template <HistogramAxis... Axes>
class HistogramWithAxes<Axes...>::Loop {
 public:
  explicit Loop(HistogramWithAxes& histogram) : slot_{&histogram.slot()} {
    slot_->check_that_none_fills();
    slot_->loop_fills = true;
    counted_ = slot_->counted.lend();
    added_ = slot_->added.lend();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    slot_->counted.take_back(counted_);
    slot_->added.take_back(added_);
    slot_->loop_fills = false;
  }

  void count(typename Axes::Value... values) {
    if constexpr (!defers) {
      slot_->count_at_once(values...);
    } else if (counted_ = Pending::put(counted_, values...); Pending::is_full(counted_))
        [[unlikely]] {
      counted_ = slot_->counted.first();
      flush(*slot_, slot_->counted, &Slot::flush_counted);
    }
  }
  template <typename... More>
  void add(typename Axes::Value... values, More... more) {
    if constexpr (!defers) {
      slot_->add_at_once(values..., more...);
    } else if (added_ = Pending::put(added_, values..., more...); Pending::is_full(added_))
        [[unlikely]] {
      added_ = slot_->added.first();
      flush(*slot_, slot_->added, &Slot::flush_added);
    }
  }

 private:
  using Pending = PendingFills<Axes...>;

  /// Without `this`, which would have to be in memory then.
  [[gnu::noinline]] static void flush(Slot& slot, Pending& pending, void (Slot::*flush)()) {
    slot.loop_fills = false;
    pending.take_back(pending.end());
    (slot.*flush)();
    static_cast<void>(pending.lend());
    slot.loop_fills = true;
  }

  Slot* slot_;
  std::byte* counted_;
  std::byte* added_;
};

template <HistogramAxis... Axes>
HistogramWithAxes<Axes...>::HistogramWithAxes(const std::string& name, const std::string& title,
                                              Moments moments, Axes... axes)
    : Histogram{name, title, moments, {axes.describe()...}},
      declared_{std::move(axes)...},
      grows_{false},
      slots_(1) {
  for (const auto& axis : this->axes()) {
    grows_ = grows_ || axis.grows;
  }
}

template <HistogramAxis... Axes>
void HistogramWithAxes<Axes...>::make_room_for_threads() {
  slots_.resize(most_threads + 1);
  forget_slots();
  if (memory() != HistogramMemory::copy && !shared_) {
    shared_.emplace(moments(), n_cells());
  }
}

/// For one thread at a time: all threads have the same slot.
template <HistogramAxis... Axes>
auto HistogramWithAxes<Axes...>::find_slot() -> Slot& {
  const std::size_t number = is_shared() ? thread_number() : 0;
  if (number >= slots_.size() || slots_[number] == nullptr) {
    make_slot(number);
  }
  Slot* const slot = slots_[number].get();
  is_shared() ? void(slot_of_thread_[number] = slot) : slot_of_thread_.fill(slot);
  return *slot;
}

template <HistogramAxis... Axes>
void HistogramWithAxes<Axes...>::make_slot(std::size_t number) {
  if (number >= slots_.size()) {
    refuse("more than " + std::to_string(most_threads) + " threads fill it");
  }
  const bool has_copies = !is_shared() || memory() == HistogramMemory::copy;
  slots_[number] =
      std::make_unique<Slot>(*this, has_copies ? nullptr : &*shared_,
                             memory() == HistogramMemory::shared ? 1 : CellFiller::most_at_a_time);
}

template <HistogramAxis... Axes>
std::vector<AxisDescription> HistogramWithAxes<Axes...>::describe(const std::tuple<Axes...>& axes) {
  return std::apply(
      [](const auto&... each) { return std::vector<AxisDescription>{each.describe()...}; }, axes);
}

template <HistogramAxis... Axes>
auto HistogramWithAxes<Axes...>::layout_of(const std::tuple<Axes...>& axes) -> Layout {
  Layout layout{};
  std::uint32_t stride = 1;
  for (std::size_t i = 0; const auto& axis : describe(axes)) {
    const auto extent = static_cast<std::uint32_t>(axis.extent());
    layout[i++] = {axis.underflow ? 1U : 0U, extent, stride};
    stride *= extent;
  }
  return layout;
}

template <HistogramAxis... Axes>
std::size_t HistogramWithAxes<Axes...>::n_cells_of(const Layout& layout) {
  return std::size_t{layout.back().extent} * layout.back().stride;
}

template <HistogramAxis... Axes>
template <std::size_t I, typename Value>
std::uint32_t HistogramWithAxes<Axes...>::find_bin(Slot& slot, Value value) {
  auto& axis = std::get<I>(slot.axes);
  const auto bin = static_cast<std::uint32_t>(axis.index(value)) + slot.layout[I].offset;
  if constexpr (requires { axis.append(value); }) {
    if (bin >= slot.layout[I].extent && axis.grows()) {
      grow<I>(slot, value);
    }
  }
  return bin;
}

template <HistogramAxis... Axes>
template <std::size_t I, typename Value>
void HistogramWithAxes<Axes...>::grow(Slot& slot, Value value) {
  slot.filler.flush();
  slot.filler.clear();
  const Layout old = slot.layout;
  std::get<I>(slot.axes).append(value);
  slot.layout = layout_of(slot.axes);
  std::vector<std::uint32_t> places(n_cells_of(old));
  for (std::uint32_t cell = 0; cell < places.size(); ++cell) {
    for (std::size_t i = 0; i < n_axes; ++i) {
      places[cell] += cell / old[i].stride % old[i].extent * slot.layout[i].stride;
    }
  }
  slot.own.move_cells(places, n_cells_of(slot.layout));
}

template <HistogramAxis... Axes>
template <typename... Values>
std::uint32_t HistogramWithAxes<Axes...>::find_cell(Slot& slot, Values... values) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const std::array<std::uint32_t, n_axes> bins{find_bin<I>(slot, values)...};  // may grow
    const bool is_in = ((bins[I] < slot.layout[I].extent) && ...);
    return is_in ? ((bins[I] * slot.layout[I].stride) + ...) : outside;
  }(each_axis());
}

template <HistogramAxis... Axes>
template <typename... Values>
std::uint32_t HistogramWithAxes<Axes...>::find_first_cell(Slot& slot, Values... values) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const std::array<std::uint32_t, n_axes - 1> bins{find_bin<I>(slot, values)...};
    const bool is_in = ((bins[I] < slot.layout[I].extent) && ...);
    return is_in ? ((bins[I] * slot.layout[I].stride) + ... + 0U) : outside;
  }(std::make_index_sequence<n_axes - 1>{});
}

template <HistogramAxis... Axes>
template <typename... Columns>
void HistogramWithAxes<Axes...>::check_variations(WeightMatrix weights,
                                                  const Columns&... columns) const {
  const auto& last = axes().back();
  if (last.kind != AxisKind::category || last.grows || last.n_bins() != weights.n_variations) {
    refuse("weights of " + counted(weights.n_variations, "variation") +
           " need a last axis with a category for each, which does not grow");
  }
  if (weights.values.size() % weights.n_variations != 0) {
    refuse(std::to_string(weights.values.size()) + " weights do not form a matrix of " +
           counted(weights.n_variations, "column"));
  }
  const std::array sizes{weights.n_entries(), static_cast<std::size_t>(columns.size())...};
  for (const std::size_t size : sizes) {
    if (size != sizes.front()) {
      refuse("it is filled with columns of " + counted(size, "entry", "entries") +
             " and weights of " + std::to_string(sizes.front()));
    }
  }
}

template <HistogramAxis... Axes>
template <typename... Columns>
std::size_t HistogramWithAxes<Axes...>::size_of(const Columns&... columns) const {
  const std::array sizes{static_cast<std::size_t>(columns.size())...};
  for (const std::size_t size : sizes) {
    if (size != sizes.front()) {
      refuse("it is filled with columns of " + std::to_string(sizes.front()) + " and " +
             counted(size, "entry", "entries"));
    }
  }
  return sizes.front();
}

template <HistogramAxis... Axes>
void HistogramWithAxes<Axes...>::clear() {
  for (auto& slot : slots_) {
    if (slot != nullptr) {
      slot->clear();
    }
    if (grows_) {
      slot.reset();
    }
  }
  if (grows_) {
    forget_slots();
  }
  if (shared_) {
    shared_->clear();
  }
}

template <HistogramAxis... Axes>
auto HistogramWithAxes<Axes...>::parts() -> std::vector<Part> {
  std::vector<Part> parts;
  Slot* all = nullptr;  // of the same cells
  for (const auto& slot : slots_) {
    if (slot != nullptr) {
      slot->flush();
      if (grows_) {
        parts.push_back({describe(slot->axes), slot->own.total()});
      } else if (all == nullptr) {
        all = slot.get();
      } else {
        all->own.take(slot->own);
      }
    }
  }
  if (all != nullptr) {
    parts.push_back({describe(all->axes), all->own.total()});
  } else if (parts.empty()) {
    parts.push_back({describe(declared_), ExactSums{n_sums_of(moments()), n_cells()}});
  }
  if (shared_) {
    parts.front().sums.merge(shared_->total());
  }
  return parts;
}

}  // namespace forkrun
