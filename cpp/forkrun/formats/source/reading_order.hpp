#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun::root_io {

/// Order of reading for the entries of a block: that of the input, so that no basket is unzipped
/// twice, for any order in the block. Close entries are read in one piece, including entries
/// between them.
class ReadingOrder {
 public:
  /// Events read, piece after piece.
  struct Slice {
    std::size_t first{};
    std::size_t last{};
  };

  explicit ReadingOrder(EntryRanges block);

  /// Pieces to read, in order.
  [[nodiscard]] EntryRanges pieces() const { return pieces_; }
  /// For each range of the block, its place among the events read.
  [[nodiscard]] std::span<const Slice> slices() const { return slices_; }
  /// Whether the pieces in order are the block.
  [[nodiscard]] bool is_block() const { return is_block_; }

 private:
  std::vector<EntryRange> pieces_;
  std::vector<Slice> slices_;
  bool is_block_ = true;
};

}  // namespace forkrun::root_io
