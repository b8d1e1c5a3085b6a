#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/core/data/column.hpp>
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

/// Joins events of columns of one type to a new one.
class JoinedColumn {
 public:
  void begin(ColumnType type, std::size_t n_events);
  /// Adds events [first, last) of a column.
  void add(const Column& part, std::size_t first, std::size_t last);
  void fill(Column& into) const;

 private:
  using Offsets = std::vector<std::int64_t>;

  ColumnType type_{};
  std::size_t value_bytes_{};
  std::array<Offsets, ColumnType::most_levels> offsets_{};  ///< by level
  std::vector<std::byte> values_{};
};

}  // namespace forkrun::root_io
