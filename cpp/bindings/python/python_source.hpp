#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include <forkrun/formats/source/tree_source.hpp>

namespace forkrun::bindings {

/// Events that Python reads. `read(ranges, name)` gives a column of the entries in `ranges`, a list
/// of (file, first, last), as `arrays_of` does; `read_ids(ranges)` gives run, lumi and number of
/// each event, three arrays.
[[nodiscard]] std::unique_ptr<Source> make_python_source(const root_io::EventSource& events,
                                                         pybind11::object read,
                                                         pybind11::object read_ids);

}  // namespace forkrun::bindings
