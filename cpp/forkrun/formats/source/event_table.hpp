#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/table/table.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// The tree or RNTuple at a path of a file, which must outlive it. \throws InputError naming
/// existing ones.
[[nodiscard]] std::unique_ptr<Table> event_table(TreeFile& file, const std::string& path);

/// Reader for a column of the table, which must have this type. `path`: of its file. \throws
/// InputError
[[nodiscard]] std::unique_ptr<ColumnReader> column_reader(const Table& table,
                                                          const std::string& path,
                                                          const std::string& name,
                                                          ColumnType wanted);

/// A tree or RNTuple of a file that stays open: opening one of a thousand branches takes longer
/// than reading some of its columns.
class OpenTree {
 public:
  /// \throws InputError
  OpenTree(const std::string& path, const std::string& tree);

  /// Columns for entries [first, last); last < 0: to the end. \throws InputError
  [[nodiscard]] std::vector<Column> read(const std::vector<std::string>& names, std::int64_t first,
                                         std::int64_t last);

 private:
  ColumnReader& reader(const std::string& name);

  TreeFile file_;
  std::unique_ptr<Table> table_;
  std::map<std::string, std::unique_ptr<ColumnReader>> readers_;
};

}  // namespace forkrun::root_io
