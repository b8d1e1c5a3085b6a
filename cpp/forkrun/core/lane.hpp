#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/core/block.hpp>
#include <forkrun/core/error_context.hpp>
#include <forkrun/core/graph.hpp>
#include <forkrun/core/masks.hpp>
#include <forkrun/core/module.hpp>
#include <forkrun/core/product_memory.hpp>
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
  void call(const Node& node, Parallel& parallel) {
    try {
      call_unguarded(node, parallel);
    } catch (...) {
      rethrow_with_context(describe_failure(node, block_));
    }
  }

  /// After the filter of a gate was called: takes what its parent has left and the filter accepts.
  /// False if no event is left.
  bool pass(std::uint32_t gate);
  /// Instead, when the parent has left no event: the filter was not called for it.
  void close(std::uint32_t gate);
  [[nodiscard]] bool is_open(std::uint32_t gate) const { return is_open_[gate] != 0; }

  /// Finds out which events an analyzer or output sees: those that passed any of its gates. False
  /// if there are none.
  bool select(const Node& node);

  /// Of all events loaded since the last call.
  EventDigest take_digest();
  [[nodiscard]] SourceLane::Statistics statistics() const { return source_->statistics(); }

 private:
  void begin(const BlockToDo& block);
  void call_unguarded(const Node& node, Parallel& parallel);
  void produce(const Node& node);
  void filter(const Node& node);
  void check_columns(const Node& node) const;
  void note_begin();

  const Graph& graph_;
  std::unique_ptr<SourceLane> source_;
  StatusSlot* status_;
  ProductMemory products_;
  EventBlock block_;
  std::vector<std::uint8_t> is_open_;  ///< by gate: whether an event is left
  Masks masks_;
  EventDigest digest_;
};

// What follows runs for every node of every block: inline.

inline void Lane::call_unguarded(const Node& node, Parallel& parallel) {
  switch (node.kind) {
    case NodeKind::source_column:
      source_->read(node.source_column, block_.mutable_column(graph_.at(node.columns)[0]));
      break;
    case NodeKind::producer: produce(node); break;
    case NodeKind::filter: filter(node); break;
    case NodeKind::analyzer:
      static_cast<Analyzer*>(node.module)->analyze(block_, masks_[node.mask]);
      break;
    case NodeKind::output:
      static_cast<OutputModule*>(node.module)->write(block_, masks_[node.mask], parallel);
      break;
  }
}

inline void Lane::produce(const Node& node) {
  for (const auto product : graph_.at(node.columns)) {
    block_.mutable_column(product).forget();
  }
  static_cast<Producer*>(node.module)->produce(block_);
  if (node.columns.count != 0) {
    check_columns(node);
  }
}

inline void Lane::filter(const Node& node) {
  masks_.accept_all(node.mask);
  static_cast<Filter*>(node.module)->filter(block_, masks_[node.mask]);
  masks_.normalise(node.mask);
}

}  // namespace forkrun
