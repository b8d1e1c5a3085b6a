#pragma once

#include <string>

#include <forkrun/core/data/source.hpp>

namespace forkrun::root_io {

/// Of the leaf of a column that is not nested: its name with the sizes of an entry, "x[nx][2]".
[[nodiscard]] std::string leaf_title(const ColumnDescription& column);

/// ROOT's letter for the type of its values: 'F' for float32.
[[nodiscard]] char leaf_letter(ElementType element);

}  // namespace forkrun::root_io
