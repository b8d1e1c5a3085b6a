#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/table/table.hpp>

namespace forkrun::root_io {

/// Values of a column in a file that lacks its branch.
struct Fill {
  double value{};
  std::string counter;  ///< branch that counts the values of a jagged column; "": none
};

/// Copies a column whose values fit a larger type of elements. `type`: that of the copy.
void widen(const Column& from, ColumnType type, Column& to);

/// A column of a file that lacks its branch: one value throughout. A jagged one has the counter's
/// number of values, if the file has the counter. Texts and lists of lists are empty.
class FilledColumn {
 public:
  /// `counter`: in this file, nullptr if it has none.
  FilledColumn(ColumnType type, double value, std::unique_ptr<ColumnReader> counter);

  /// Values of entries [first, last).
  void read(std::int64_t first, std::int64_t last, Column& into);

 private:
  std::size_t make_offsets(std::int64_t first, std::int64_t last, Column& into);

  ColumnType type_;
  double value_;
  std::unique_ptr<ColumnReader> counter_;
};

}  // namespace forkrun::root_io
