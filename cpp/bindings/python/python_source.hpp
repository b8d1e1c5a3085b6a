#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <forkrun/core/data/source.hpp>

namespace forkrun::bindings {

/// Events that Python reads. `clusters`: per file, first entry of each, then n_entries.
/// `read(ranges, name)` gives a column of the entries in `ranges`, a list of (file, first, last),
/// as `arrays_of` does; `read_ids(ranges)` gives run, lumi and number of each event, three arrays.
[[nodiscard]] std::unique_ptr<Source> make_python_source(
    std::vector<ColumnDescription> columns, std::vector<std::vector<std::int64_t>> clusters,
    pybind11::object read, pybind11::object read_ids);

}  // namespace forkrun::bindings
