#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>

namespace forkrun::root_io {

/// Columns of a tree for entries [first, last); last < 0: to the end. \throws InputError
[[nodiscard]] std::vector<Column> read_columns(const std::string& path, const std::string& tree,
                                               const std::vector<std::string>& names,
                                               std::int64_t first, std::int64_t last);

}  // namespace forkrun::root_io
