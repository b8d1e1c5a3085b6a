#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/event_id.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/core/module/coroutine.hpp>
#include <forkrun/random/event_random.hpp>

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

/// Any of these inputs, of a module that asks for the product while it runs.
template <typename Handle>
struct Lazy {
  Handle handle;
};
template <typename T>
using LazyInput = Lazy<Input<T>>;
template <typename T>
using LazyScalarInput = Lazy<ScalarInput<T>>;
template <typename T>
using LazyJaggedInput = Lazy<JaggedInput<T>>;
template <typename Handle>
class Fetch;

/// Handle to what a module wants of a condition, got from `Construction`.
template <typename T>
struct ConditionInput {
  std::uint32_t object{};
};

/// One byte per event of a block, 0 or 1.
using Mask = std::span<const std::uint8_t>;

/// k >= 1 consecutive events of one lumi, as a module sees them: the unit of scheduling.
/// Products that are consumed are there before the module is called; those that it may consume are
/// made when it asks for them.
class EventBlock {
 public:
  EventBlock(std::span<void* const> products, SourceLane* source)
      : products_{products}, source_{source} {}

  [[nodiscard]] LumiId lumi() const { return lumi_; }
  /// Number of the interval of validity of the conditions that the lumi belongs to.
  [[nodiscard]] std::uint32_t iov() const { return iov_; }
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
  /// For a product that may be consumed: `const auto& x = block.get(lazy);` waits, while the thread
  /// executes other tasks; `co_await block.get(lazy)` in a coroutine gives the thread back.
  template <typename Handle>
  [[nodiscard]] Fetch<Handle> get(Lazy<Handle> lazy) const {
    return Fetch<Handle>{*this, lazy.handle};
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

  /// The random numbers of an event of the block, from their beginning: each call gives the same
  /// ones. Keep what it returns as long as the module works on the event.
  [[nodiscard]] EventRandom random(RandomKey key, std::size_t event) const {
    return {key, lumi_.run, lumi_.lumi, events_[event]};
  }
  /// What holds for the events of this block.
  template <typename T>
  [[nodiscard]] const T& condition(ConditionInput<T> input) const {
    return *static_cast<const T*>(conditions_[input.object]);
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
  std::uint32_t iov_{};
  const void* const* conditions_{};
  EntryRange range_{};
  std::span<const std::uint64_t> events_;
  std::uint64_t sequence_{};
  std::size_t lane_{};
};

/// A product that is asked for. \throws ProductNotMade
template <typename Handle>
class Fetch {
 public:
  using Result = decltype(std::declval<const EventBlock&>().get(std::declval<Handle>()));

  Fetch(const EventBlock& block, Handle handle) : block_{block}, handle_{handle} {}

  /// Waits.
  operator Result() const {  // NOLINT(google-explicit-constructor): it stands for the product.
    const auto call = ModuleCall::of_this_thread();
    call.fetcher->wait_for(call.node, handle_.product);
    return block_.get(handle_);
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<Coroutine::Promise> coroutine) {
    const auto call = coroutine.promise().call();
    fetcher_ = call.fetcher;
    return !call.fetcher->ask_for(call.node, handle_.product);
  }
  [[nodiscard]] Result await_resume() const {
    fetcher_->check_made(handle_.product);
    return block_.get(handle_);
  }

 private:
  const EventBlock& block_;
  Handle handle_;
  ProductFetcher* fetcher_{};
};

}  // namespace forkrun
