#pragma once

#include <memory>
#include <string>

#include <forkrun/formats/table/table.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// The tree or RNTuple at a path of a file, which has to outlive it. \throws InputError naming
/// those that there are.
[[nodiscard]] std::unique_ptr<Table> event_table(TreeFile& file, const std::string& path);

/// Reads a column of the table, which has to be of this type. `path`: of its file. \throws
/// InputError
[[nodiscard]] std::unique_ptr<ColumnReader> column_reader(const Table& table,
                                                          const std::string& path,
                                                          const std::string& name,
                                                          ColumnType wanted);

}  // namespace forkrun::root_io
