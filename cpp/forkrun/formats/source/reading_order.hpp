#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun::root_io {

/// In which order the entries of a block are read: that of the input, so that no basket is unzipped
/// twice, whatever order they have in the block. Entries that lie close together are read in one
/// piece, with those between them.
class ReadingOrder {
 public:
  /// Events of what was read, one piece after the other.
  struct Slice {
    std::size_t first{};
    std::size_t last{};
  };

  explicit ReadingOrder(EntryRanges block);

  /// What is to be read, in order.
  [[nodiscard]] EntryRanges pieces() const { return pieces_; }
  /// For each range of the block, where it is in what was read.
  [[nodiscard]] std::span<const Slice> slices() const { return slices_; }
  /// The pieces one after the other are the block.
  [[nodiscard]] bool is_block() const { return is_block_; }

 private:
  std::vector<EntryRange> pieces_;
  std::vector<Slice> slices_;
  bool is_block_ = true;
};

}  // namespace forkrun::root_io
