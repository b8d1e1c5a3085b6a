#pragma once

#include <string>

#include <forkrun/core/data/source.hpp>

namespace forkrun::root_io {

/// Name of the branch that counts the values of a jagged column: "nMuon" for "Muon_pt", "njets" for
/// "jets".
[[nodiscard]] std::string counter_name(const std::string& column);

/// Of the leaf of a column that is not nested: its name with the sizes of an entry, "x[nx][2]".
[[nodiscard]] std::string leaf_title(const ColumnDescription& column);

/// ROOT's letter for the type of its values: 'F' for float32.
[[nodiscard]] char leaf_letter(ElementType element);

}  // namespace forkrun::root_io
