#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/event_id.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/core/module/coroutine.hpp>
#include <forkrun/random/event_random.hpp>

namespace forkrun {

/// Handles to products, got from `Construction` and kept as members of a module. They hold the
/// number of the product in the job; no name is looked up while events are processed.
template <typename T>
struct Input {
  std::uint32_t product = none;
};
template <typename T>
struct Output {
  std::uint32_t product = none;
};
template <typename T>
struct ScalarInput {
  std::uint32_t product = none;
};
template <typename T>
struct JaggedInput {
  std::uint32_t product = none;
};
template <typename T>
struct FixedInput {
  std::uint32_t product = none;
};
template <typename T>
struct NestedInput {
  std::uint32_t product = none;
};
template <typename T>
struct ScalarOutput {
  std::uint32_t product = none;
};
template <typename T>
struct JaggedOutput {
  std::uint32_t product = none;
};
template <typename T>
struct FixedOutput {
  std::uint32_t product = none;
};
template <typename T>
struct NestedOutput {
  std::uint32_t product = none;
};

/// Any of these inputs, for a product requested during the call. `module`: number of the module.
template <typename Handle>
struct Lazy {
  Handle handle{};
  std::uint32_t module = none;
};
template <typename T>
using LazyInput = Lazy<Input<T>>;
template <typename T>
using LazyScalarInput = Lazy<ScalarInput<T>>;
template <typename T>
using LazyJaggedInput = Lazy<JaggedInput<T>>;
template <typename Handle>
class Fetch;
template <typename Handle>
class Awaited;
struct Graph;

/// Handle to an object of a condition, got from `Construction`.
template <typename T>
struct ConditionInput {
  std::uint32_t object = none;
};

/// One byte per event of a block, 0 or 1.
using Mask = std::span<const std::uint8_t>;

/// k >= 1 consecutive events of one IOV, as a module sees them: the unit of scheduling. They may be
/// of several lumis, unless the module wants one at a time (Construction::set_one_lumi) or has
/// callbacks of runs or lumis: then it is called for one lumi after another. Consumed products are
/// made before the call; products that it may consume are made on request.
class EventBlock {
 public:
  EventBlock(std::span<void* const> products, SourceLane* source)
      : products_{products}, source_{source} {}

  /// Lumi of all events. \throws Error if there are several
  [[nodiscard]] LumiId lumi() const {
    if (!lumis_.is_one()) [[unlikely]] {
      refuse_lumi();
    }
    return lumis_.first();
  }
  [[nodiscard]] LumiId lumi_of(std::size_t event) const { return lumis_.of(event); }
  [[nodiscard]] const BlockLumis& lumis() const { return lumis_; }
  /// Number of the interval of validity of the conditions for these lumis.
  [[nodiscard]] std::uint32_t iov() const { return iov_; }
  /// Event numbers, in entry order; (n_events,).
  [[nodiscard]] std::span<const std::uint64_t> events() const { return events_; }
  [[nodiscard]] std::size_t n_events() const { return events_.size(); }
  /// Entries of the events in the input files; not empty.
  [[nodiscard]] EntryRanges ranges() const { return ranges_; }
  /// 0 for the first block of a unit, then 1, 2, …
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  /// Number of the concurrent block, in [0, concurrent_blocks).
  [[nodiscard]] std::size_t lane() const { return lane_; }
  /// For output modules that copy input branches unread.
  [[nodiscard]] SourceLane& source() const { return source_->of_block(); }

  template <typename T>
  [[nodiscard]] const T& get(Input<T> input) const {
    return *static_cast<const T*>(product(input.product));
  }
  template <typename T>
  [[nodiscard]] ScalarView<T> get(ScalarInput<T> input) const {
    return column(input.product).template values<T>();
  }
  template <typename T>
  [[nodiscard]] JaggedView<T> get(JaggedInput<T> input) const {
    return column(input.product).template jagged<T>();
  }
  template <typename T>
  [[nodiscard]] FixedView<T> get(FixedInput<T> input) const {
    return column(input.product).template fixed<T>();
  }
  template <typename T>
  [[nodiscard]] NestedView<T> get(NestedInput<T> input) const {
    return column(input.product).template nested<T>();
  }
  /// Requests a product: `const T& x = block.get(lazy);` waits, while the thread executes other
  /// tasks. In a coroutine: see CoroutineBlock.
  template <typename Handle>
  [[nodiscard]] Fetch<Handle> get(Lazy<Handle> lazy) const {
    return Fetch<Handle>{*this, lazy};
  }
  /// A product of this module, to fill; it still has the content of an earlier block.
  template <typename T>
  [[nodiscard]] T& make(Output<T> output) const {
    return *static_cast<T*>(product(output.product));
  }
  /// Values to fill; (n_events,).
  template <typename T>
  [[nodiscard]] std::span<T> make(ScalarOutput<T> output) const {
    return mutable_column(output.product).template fill_scalar<T>(n_events());
  }
  /// Column to fill: first its offsets, then its values.
  template <typename T>
  [[nodiscard]] Column& make(JaggedOutput<T> output) const {
    return mutable_column(output.product);
  }
  /// Values to fill, event after event; (n_events × values in each,).
  template <typename T>
  [[nodiscard]] std::span<T> make(FixedOutput<T> output) const {
    return mutable_column(output.product).template fill_scalar<T>(n_events());
  }
  /// Column to fill: the offsets of level 0, then of level 1, then the values.
  template <typename T>
  [[nodiscard]] Column& make(NestedOutput<T> output) const {
    return mutable_column(output.product);
  }

  /// Random numbers of an event of the block, from their beginning: each call returns the same
  /// ones. Keep the result while the module works on the event.
  [[nodiscard]] EventRandom random(RandomKey key, std::size_t event) const {
    const auto lumi = lumis_.of(event);
    return {key, lumi.run, lumi.lumi, events_[event]};
  }
  /// The condition's object for the events of this block.
  template <typename T>
  [[nodiscard]] const T& condition(ConditionInput<T> input) const {
    if (conditions_ == nullptr || input.object == none) [[unlikely]] {
      refuse_condition();
    }
    return *static_cast<const T*>(conditions_[input.object]);
  }

  [[nodiscard]] const Column& column(std::uint32_t product) const {
    return *static_cast<const Column*>(this->product(product));
  }
  [[nodiscard]] Column& mutable_column(std::uint32_t product) const {
    return *static_cast<Column*>(this->product(product));
  }

 protected:
  /// True if there is nothing to wait for. Else the coroutine waits, and may already be running
  /// again. \throws Error if it cannot wait for the product
  [[nodiscard]] static bool ask_for(const ModuleCall& call, std::uint32_t product,
                                    std::uint32_t module);

 private:
  friend class Lane;
  friend class LumiPieces;
  template <typename Handle>
  friend class Fetch;
  template <typename Handle>
  friend class Awaited;

  /// Null only with a handle of another module whose product is not needed.
  [[nodiscard]] void* product(std::uint32_t number) const {
    if (number >= products_.size() || products_[number] == nullptr) [[unlikely]] {
      refuse_product(number);
    }
    return products_[number];
  }
  [[noreturn]] void refuse_product(std::uint32_t product) const;
  [[noreturn]] static void refuse_condition();
  [[noreturn]] void refuse_lumi() const;
  /// \throws Error if the calling thread is not in a call of the module that has the handle
  void wait_for(std::uint32_t product, std::uint32_t module) const;
  [[noreturn]] void refuse_wait(std::uint32_t product, std::uint32_t module) const;

  const Graph* graph_{};  ///< for names in errors; null in a block without a lane
  std::span<void* const> products_;
  SourceLane* source_;
  BlockLumis lumis_;
  std::uint32_t iov_{};
  const void* const* conditions_{};
  EntryRanges ranges_{};
  std::span<const std::uint64_t> events_;
  std::uint64_t sequence_{};
  std::size_t lane_{};
};

/// Event block for coroutines: products that may be consumed are awaited.
class CoroutineBlock : public EventBlock {
 public:
  using EventBlock::EventBlock;

  /// Requests a product: `const T& x = co_await block.get(lazy);` gives the thread back until it is
  /// made.
  template <typename Handle>
  [[nodiscard]] Awaited<Handle> get(Lazy<Handle> lazy) const {
    return Awaited<Handle>{*this, lazy};
  }
  /// A consumed product, made before the call.
  template <typename Handle>
  [[nodiscard]] auto get(Handle input) const -> decltype(EventBlock::get(input)) {
    return EventBlock::get(input);
  }
};

/// A product that a module waits for on its stack. \throws ProductNotMade
template <typename Handle>
class Fetch {
 public:
  using Result = decltype(std::declval<const EventBlock&>().get(std::declval<Handle>()));

  Fetch(const EventBlock& block, Lazy<Handle> lazy) : block_{block}, lazy_{lazy} {}

  /// Waits.
  operator Result() const {  // NOLINT(google-explicit-constructor): it stands for the product.
    block_.wait_for(lazy_.handle.product, lazy_.module);
    return block_.get(lazy_.handle);
  }

 private:
  const EventBlock& block_;
  Lazy<Handle> lazy_;
};

/// A product that a coroutine waits for, with co_await. \throws ProductNotMade
template <typename Handle>
class [[nodiscard]] Awaited {
 public:
  using Result = decltype(std::declval<const EventBlock&>().get(std::declval<Handle>()));

  Awaited(const CoroutineBlock& block, Lazy<Handle> lazy) : block_{block}, lazy_{lazy} {}

  operator Result() const = delete;  // Write co_await block.get(…): a coroutine does not block.

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<Coroutine::Promise> coroutine) {
    const auto call = coroutine.promise().call();
    fetcher_ = call.fetcher;
    return !EventBlock::ask_for(call, lazy_.handle.product, lazy_.module);
  }
  [[nodiscard]] Result await_resume() const {
    fetcher_->check_made(lazy_.handle.product);
    return static_cast<const EventBlock&>(block_).get(lazy_.handle);
  }

 private:
  const CoroutineBlock& block_;
  Lazy<Handle> lazy_;
  ProductFetcher* fetcher_{};
};

}  // namespace forkrun
