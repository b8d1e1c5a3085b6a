#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

#include <forkrun/core/module/block.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// Calls a module that sees one lumi at a time with a block of several: for each lumi it makes a
/// block with copies of the module's columns, and joins its products again.
class LumiPieces {
 public:
  LumiPieces(const Graph& graph, const Node& node);

  /// Begins with another block.
  void begin(const EventBlock& block);
  /// Moves to the events of the next lumi that has some; false if there are none.
  [[nodiscard]] bool next(const EventBlock& block);
  /// The events, and the number of the first of them in the block.
  [[nodiscard]] const EventBlock& piece() const { return piece_; }
  [[nodiscard]] std::size_t first() const { return first_; }
  /// Appends the module's products for these events to the columns of the block.
  void join(const EventBlock& block) const;

 private:
  void take_ranges(const EventBlock& block);

  const Graph& graph_;
  LinkRange consumed_;
  LinkRange made_;
  std::vector<Column> columns_;
  std::vector<void*> products_;  ///< by product; null: not one of the module's
  EventBlock piece_;
  std::size_t first_{};
  std::size_t last_{};
  std::vector<EntryRange> ranges_;  ///< of the piece
  std::size_t range_{};             ///< index in the block's ranges, where the next piece begins
  std::int64_t n_taken_{};          ///< events of that range
};

/// By node, for one lane; null: the module sees whole blocks.
[[nodiscard]] std::vector<std::unique_ptr<LumiPieces>> make_pieces(const Graph& graph);

/// Exception of a module called with a piece, or of its callback: it names its place.
struct FailedPiece {
  std::exception_ptr failure;
};

}  // namespace forkrun
