#pragma once

#include <cstddef>
#include <string>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>

namespace forkrun::root_io {

/// ROOT's name of the class that holds an entry of a nested column: "string",
/// "vector<vector<float> >".
[[nodiscard]] std::string class_of(ColumnType type);

/// Adds the entry of an event, as ROOT streams an object of that class.
void add_nested_entry(const Column& column, std::size_t event, Bytes& to);

}  // namespace forkrun::root_io
