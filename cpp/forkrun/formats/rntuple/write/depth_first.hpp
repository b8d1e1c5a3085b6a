#pragma once

#include <cstdint>
#include <vector>

#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// A schema with other numbers of fields and columns. `columns`: the new number of each column.
struct Renumbered {
  Schema schema;
  std::vector<std::uint32_t> columns;
};

/// Numbers fields depth first, each followed by all that is in it, and columns in the order of
/// their fields. The format allows any order, but hadd takes this one for granted.
[[nodiscard]] Renumbered depth_first(const Schema& schema);

}  // namespace forkrun::rntuple
