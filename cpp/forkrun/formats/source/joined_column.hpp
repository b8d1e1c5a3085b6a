#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <forkrun/core/data/column.hpp>

namespace forkrun::root_io {

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
