#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/data/masks.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/core/module/block.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/core/run/announcer.hpp>
#include <forkrun/core/run/callee.hpp>
#include <forkrun/core/run/lane_status.hpp>
#include <forkrun/core/run/lumi_pieces.hpp>
#include <forkrun/core/run/product_memory.hpp>
#include <forkrun/core/run/recorder.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// A block of a unit, to be processed.
struct BlockToDo {
  BlockLumis lumis;
  EntryRanges ranges;
  std::uint64_t sequence{};  ///< number of the block in its unit: 0, 1, 2, …
  std::uint32_t iov{};
  std::size_t
      first_event{};  ///< number of its first event in the unit, where the unit has several lumis
};

/// State of one concurrent block: its products, its masks, its part of the source. Reused block
/// after block, so that a block allocates nothing once sizes have settled.
///
/// It knows how to call a node, not when. Distinct nodes may be called at the same time.
class alignas(cache_line_pair) Lane {
 public:
  Lane(const Graph& graph, std::size_t number, std::unique_ptr<SourceLane> source,
       LaneStatus status, Announcer& announcer, Recorder* recorder);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// For the recorder; without one these do nothing. A node is wanted; its inputs have been made
  /// and a thread has taken it up; its turn has come and its queues have let it in.
  void note_asked(std::uint32_t node) {
    if (recorder_ != nullptr) {
      times_[node].asked_ns = Recorder::now_ns();
    }
  }
  void note_ready(std::uint32_t node) {
    if (recorder_ != nullptr && times_[node].ready_ns == 0) {
      times_[node].ready_ns = Recorder::now_ns();
    }
  }
  void note_entered(std::uint32_t node) {
    if (recorder_ != nullptr) {
      record_wait(node);
    }
  }

  /// Moves to a block: reads event numbers, nothing else. \throws Error with the place.
  void load(const BlockToDo& block);
  /// Whether `expect` is of use; announces the next block to load.
  [[nodiscard]] bool expects() const { return expects_; }
  void expect(const BlockToDo& next) { source_->expect(next.ranges, next.lumis); }
  /// Instead of `load`, after a failure of the unit: a block of no events.
  void skip(const BlockToDo& block);
  /// Ends the block.
  void end_block() { status_.end_block(block_); }
  [[nodiscard]] const EventBlock& block() const { return block_; }

  /// Reads the column or calls the module. False for a coroutine that waits for a product: to be
  /// called again on its resumption; it may be running again already. Throws the module's
  /// exceptions.
  [[nodiscard, gnu::always_inline]] bool call(std::uint32_t node, ProductFetcher& fetcher,
                                              Parallel& parallel) {
    if (is_recorded()) [[unlikely]] {
      return call_recorded(node, fetcher, parallel);
    }
    return call_unrecorded(node, fetcher, parallel);
  }
  /// The same, for a producer without columns that requests nothing, where calls are not recorded.
  void produce_plain(std::uint32_t node) {
    static_cast<Producer*>(callees_[node].module)->produce(block_);
  }
  [[nodiscard]] bool is_recorded() const { return recorder_ != nullptr; }
  /// In a handler: rethrows with the place.
  [[nodiscard]] std::exception_ptr failure_of(std::uint32_t node) const noexcept;
  /// Has the module begin its external work. \throws Error with the place.
  void acquire(std::uint32_t node, ExternalWork work);
  /// \throws the failure of the external work, with the place.
  void fail_external(std::uint32_t node, const std::exception_ptr& failure) const;

  /// After the call of a gate's filter: the gate's events are its parent's that the filter accepts.
  /// False if no event is left.
  bool pass(std::uint32_t gate);
  /// Instead, when the parent has no event left: the filter was not called for it.
  void close(std::uint32_t gate);
  [[nodiscard]] bool is_open(std::uint32_t gate) const { return is_open_[gate] != 0; }

  /// When all parts of a union are known: its events are those of any part.
  void unite(std::uint32_t gate);

  /// Reads since the last call; between blocks.
  struct Share {
    EventDigest read;
    SourceLane::Statistics statistics;
    std::size_t n_column_bytes{};  ///< size of the largest block so far
  };
  [[nodiscard]] Share take_share();

 private:
  struct NodeTimes {
    std::int64_t asked_ns{};
    std::int64_t ready_ns{};
    std::int64_t end_ns{};
  };

  void begin(const BlockToDo& block);
  std::span<const std::uint64_t> load_recorded();
  void add_to_digest();
  [[nodiscard]] std::size_t n_column_bytes() const;
  [[noreturn]] void fail_call(std::uint32_t node, const EventBlock& block) const;
  [[noreturn]] void fail_load();
  bool call_unrecorded(std::uint32_t node, ProductFetcher& fetcher, Parallel& parallel);
  bool call_recorded(std::uint32_t node, ProductFetcher& fetcher, Parallel& parallel);
  [[nodiscard]] Recorder::Call begun_call(std::uint32_t node) const;
  void note_column(Recorder::Call& call, std::int64_t& cpu_ns, const InputCosts& costs,
                   const Recorder::Doing& doing);
  void record_wait(std::uint32_t node);
  bool call_other(std::uint32_t node, ProductFetcher& fetcher, Parallel& parallel);
  void call_module(const Callee& callee, const EventBlock& block, std::size_t first);
  void call_producer(const Callee& callee, const EventBlock& block, std::size_t first);
  void call_filter(const Callee& callee, const EventBlock& block, std::size_t first);
  void call_cut(std::uint32_t node);
  void call_pieces(std::uint32_t node);
  [[nodiscard]] bool has_selected(std::uint32_t mask, const LumiPieces& pieces) const;
  void call_piece(std::uint32_t node, const EventBlock& piece, std::size_t first);
  void call_asking(std::uint32_t node, ProductFetcher& fetcher);
  bool call_coroutine(std::uint32_t node, ProductFetcher& fetcher);
  void forget_columns(const Callee& callee, const EventBlock& block) const;
  void check_columns(const Callee& callee, const EventBlock& block) const;
  /// Events of a part of the block that are left for a producer or filter.
  [[nodiscard]] Mask left_for(const Callee& callee, const EventBlock& block,
                              std::size_t first) const {
    return masks_[callee.left].subspan(first, block.n_events());
  }
  [[nodiscard]] std::span<std::uint8_t> begin_filter(const Callee& callee) {
    masks_.accept_all(callee.mask);
    return masks_[callee.mask];
  }

  const Graph& graph_;
  std::unique_ptr<SourceLane> source_;
  bool expects_ = source_->expects();
  LaneStatus status_;
  ProductMemory products_;
  CoroutineBlock block_;
  CacheLineVector<std::uint8_t> is_open_;  ///< by gate: whether any event is left
  Masks masks_;
  std::vector<Callee> callees_;  ///< by node
  Coroutines coroutines_;
  std::vector<std::unique_ptr<LumiPieces>> pieces_;  ///< by node; null: it sees whole blocks
  Announcer& announcer_;
  std::size_t first_event_{};  ///< number of the block's first event in its unit
  Recorder* recorder_;
  std::vector<NodeTimes> times_;  ///< by node, of this block; empty without a recorder
  EventDigest digest_;
  SourceLane::Statistics taken_;  ///< part already accounted
};

// Code below runs for every block, or every node of every block: inline.

inline void Lane::begin(const BlockToDo& block) {
  block_.lumis_ = block.lumis;
  block_.iov_ = block.iov;
  block_.conditions_ = graph_.conditions ? graph_.conditions->objects_in(block.iov) : nullptr;
  block_.ranges_ = block.ranges;
  block_.sequence_ = block.sequence;
  block_.events_ = {};
  first_event_ = block.first_event;
}

inline void Lane::load(const BlockToDo& block) {
  begin(block);  // From here on only `block_`: the caller has `block` in registers only.
  try {
    block_.events_ = is_recorded() ? load_recorded() : source_->load(block_.ranges_, block_.lumis_);
  } catch (...) {
    fail_load();
  }
  is_open_[0] = block_.n_events() != 0 ? 1 : 0;
  masks_.resize(block_.n_events());
  if (block_.lumis_.is_one()) [[likely]] {
    digest_.add(block_.lumis_.first(), block_.events());
  } else {
    add_to_digest();
  }
  status_.begin_block(block_);
}

inline bool Lane::pass(std::uint32_t number) {
  const auto& gate = graph_.gates[number];
  // After gate 0 the mask is the filter's own, used by all gates of this filter: not written here.
  const bool any = gate.parent == 0 ? masks_.any(gate.mask)
                                    : masks_.set_both(gate.mask, graph_.gates[gate.parent].mask,
                                                      gate.filter_mask);
  is_open_[number] = any ? 1 : 0;
  return any;
}

/// `block`: the loaded block, or a part of it whose first event is number `first`.
inline void Lane::call_filter(const Callee& callee, const EventBlock& block, std::size_t first) {
  auto& filter = *static_cast<Filter*>(callee.module);
  const auto accept = masks_[callee.mask].subspan(first, block.n_events());
  if (callee.left == 0) {
    filter.filter(block, accept);
  } else {
    filter.filter_left(block, left_for(callee, block, first), accept);
  }
}

[[gnu::always_inline]] inline bool Lane::call_unrecorded(std::uint32_t node,
                                                         ProductFetcher& fetcher,
                                                         Parallel& parallel) {
  const auto& callee = callees_[node];
  if (callee.kind == CalleeKind::plain_producer) {
    static_cast<Producer*>(callee.module)->produce(block_);
    return true;
  }
  if (callee.kind == CalleeKind::filter) {
    masks_.accept_all(callee.mask);
    call_filter(callee, block_, 0);
    masks_.normalise(callee.mask);
    return true;
  }
  return call_other(node, fetcher, parallel);
}

}  // namespace forkrun
