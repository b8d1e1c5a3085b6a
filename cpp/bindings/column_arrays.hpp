#pragma once

#include <pybind11/numpy.h>

#include <forkrun/core/data/column.hpp>

namespace forkrun::bindings {

[[nodiscard]] pybind11::dtype dtype_of(ElementType element);

/// Values of a scalar column, (offsets, values) of a jagged one, (offsets, offsets, values) of
/// lists of lists: read-only arrays on the column's own memory, which they hold. Values that are
/// arrays of fixed size have further dimensions; characters are "S1".
[[nodiscard]] pybind11::object arrays_of(const Column& column);

/// Copies arrays of Python, in the form that `arrays_of` returns, to a column of this type. `what`
/// names the column in errors. \throws Error if type, dimension or number of events is wrong;
/// `n_events` < 0: any number.
void fill_column(Column& column, const pybind11::handle& arrays, std::int64_t n_events,
                 const std::string& what);

}  // namespace forkrun::bindings
