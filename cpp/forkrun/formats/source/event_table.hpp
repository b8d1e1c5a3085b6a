#pragma once

#include <memory>
#include <string>

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

}  // namespace forkrun::root_io
