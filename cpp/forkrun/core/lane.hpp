#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/core/block.hpp>
#include <forkrun/core/graph.hpp>
#include <forkrun/core/module.hpp>
#include <forkrun/core/source.hpp>
#include <forkrun/core/status_board.hpp>

namespace forkrun {

/// A block of a unit that is to be processed.
struct BlockToDo {
  LumiId lumi;
  EntryRange range;
  std::uint64_t sequence{};  ///< of the block in its unit: 0, 1, 2, …
};

/// What one concurrent block owns: its products, its masks, its part of the source. It is used
/// again for block after block, so that a block allocates nothing once sizes have settled.
///
/// It knows what to do with a node, but not when. Distinct nodes may be called at the same time.
class Lane {
 public:
  /// `status` may be null.
  Lane(const Graph& graph, std::size_t number, std::unique_ptr<SourceLane> source,
       StatusSlot* status);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Moves to a block: event numbers are read, nothing else. \throws Error saying where.
  void load(const BlockToDo& block);
  /// Instead of `load`, when the unit has failed: a block of no events.
  void skip(const BlockToDo& block);
  /// The block has ended.
  void end_block();
  [[nodiscard]] const EventBlock& block() const { return block_; }

  /// Reads the column or calls the module. \throws Error saying where.
  void call(const Node& node, Parallel& parallel);

  /// After the filter of a gate was called: takes what its parent has left and the filter accepts.
  /// False if no event is left.
  bool pass(std::uint32_t gate);
  /// Instead, when the parent has left no event: the filter was not called for it.
  void close(std::uint32_t gate);
  [[nodiscard]] bool is_open(std::uint32_t gate) const { return n_left_[gate] != 0; }

  /// Finds out which events an analyzer or output sees: those that passed any of its gates. False
  /// if there are none.
  bool select(const Node& node);

  /// Of all events loaded since the last call.
  EventDigest take_digest();
  [[nodiscard]] SourceLane::Statistics statistics() const { return source_->statistics(); }

 private:
  void begin(const BlockToDo& block);
  void make_room_for_masks();
  void call_unguarded(const Node& node, Parallel& parallel);
  void produce(const Node& node);
  void filter(const Node& node);
  void check_column(std::uint32_t product) const;
  void note_begin();
  [[nodiscard]] std::span<std::uint8_t> mask(std::uint32_t number) const {
    return {masks_.get() + number * mask_stride_, block_.n_events()};
  }

  const Graph& graph_;
  std::unique_ptr<SourceLane> source_;
  StatusSlot* status_;
  std::vector<void*> products_;  ///< by product; null if no node makes it
  EventBlock block_;
  std::vector<std::size_t> n_left_;  ///< events, by gate
  std::size_t mask_stride_{};
  std::unique_ptr<std::uint8_t[]> masks_;
  EventDigest digest_;
};

}  // namespace forkrun
