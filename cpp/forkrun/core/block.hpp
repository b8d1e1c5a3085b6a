#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forkrun/core/column.hpp>
#include <forkrun/core/event_id.hpp>
#include <forkrun/core/source.hpp>

namespace forkrun {

/// Handles to products, got from `Construction` and kept as members of a module. They hold the
/// number of the product in the job; no name is looked up while events are processed.
template <typename T>
struct Input {
  std::uint32_t product{};
};
template <typename T>
struct Output {
  std::uint32_t product{};
};
template <typename T>
struct ScalarInput {
  std::uint32_t product{};
};
template <typename T>
struct JaggedInput {
  std::uint32_t product{};
};
template <typename T>
struct ScalarOutput {
  std::uint32_t product{};
};
template <typename T>
struct JaggedOutput {
  std::uint32_t product{};
};

/// One byte per event of a block, 0 or 1.
using Mask = std::span<const std::uint8_t>;

/// k >= 1 consecutive events of one lumi, as a module sees them: the unit of scheduling.
/// Products asked for in the constructor are there before the module is called.
class EventBlock {
 public:
  EventBlock(std::span<void* const> products, SourceLane* source)
      : products_{products}, source_{source} {}

  [[nodiscard]] LumiId lumi() const { return lumi_; }
  /// Event numbers, in entry order; (n_events,).
  [[nodiscard]] std::span<const std::uint64_t> events() const { return events_; }
  [[nodiscard]] std::size_t n_events() const { return events_.size(); }
  [[nodiscard]] const EntryRange& range() const { return range_; }
  /// 0 for the first block of a unit, then 1, 2, …
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  /// Number of the concurrent block, in [0, concurrent_blocks).
  [[nodiscard]] std::size_t lane() const { return lane_; }
  /// For output modules that copy input branches unread.
  [[nodiscard]] SourceLane& source() const { return *source_; }

  template <typename T>
  [[nodiscard]] const T& get(Input<T> input) const {
    return *static_cast<const T*>(products_[input.product]);
  }
  template <typename T>
  [[nodiscard]] ScalarView<T> get(ScalarInput<T> input) const {
    return column(input.product).template values<T>();
  }
  template <typename T>
  [[nodiscard]] JaggedView<T> get(JaggedInput<T> input) const {
    return column(input.product).template jagged<T>();
  }
  /// A product of this module, to be filled; it still has the content of an earlier block.
  template <typename T>
  [[nodiscard]] T& make(Output<T> output) const {
    return *static_cast<T*>(products_[output.product]);
  }
  /// The values to be filled; (n_events,).
  template <typename T>
  [[nodiscard]] std::span<T> make(ScalarOutput<T> output) const {
    return mutable_column(output.product).template fill_scalar<T>(n_events());
  }
  /// The column to be filled: first its offsets, then its values.
  template <typename T>
  [[nodiscard]] Column& make(JaggedOutput<T> output) const {
    return mutable_column(output.product);
  }

  [[nodiscard]] const Column& column(std::uint32_t product) const {
    return *static_cast<const Column*>(products_[product]);
  }
  [[nodiscard]] Column& mutable_column(std::uint32_t product) const {
    return *static_cast<Column*>(products_[product]);
  }

 private:
  friend class Lane;
  std::span<void* const> products_;
  SourceLane* source_;
  LumiId lumi_{};
  EntryRange range_{};
  std::span<const std::uint64_t> events_;
  std::uint64_t sequence_{};
  std::size_t lane_{};
};

}  // namespace forkrun
