#include "column_arrays.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <forkrun/core/data/errors.hpp>

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// An array on memory of a column; the array's base holds the memory.
py::array view(const std::shared_ptr<const Buffer>& buffer, const py::dtype& type,
               std::size_t size) {
  static const std::byte nothing{};
  auto* holder = new std::shared_ptr<const Buffer>{buffer};
  const py::capsule owner{
      holder, [](void* pointer) { delete static_cast<std::shared_ptr<const Buffer>*>(pointer); }};
  py::array array{type,
                  {static_cast<py::ssize_t>(size)},
                  {type.itemsize()},
                  buffer ? buffer->data() : &nothing,
                  owner};
  array.attr("flags").attr("writeable") = false;
  return array;
}

std::string text_of(const py::handle& object) { return py::str(object).cast<std::string>(); }

py::array one_dimensional(const py::handle& object, const std::string& what) {
  auto array = py::array::ensure(object);
  if (!array || array.ndim() != 1) {
    PyErr_Clear();
    throw Error(
        what + ": wanted an array of one dimension, got " +
        (array ? std::to_string(array.ndim()) + " dimensions" : text_of(py::type::of(object))));
  }
  return array;
}

/// The values as `type`, by NumPy's rule "same_kind": floating point may be rounded, an integer
/// that does not fit is an error. No values at all have no type that could be wrong.
py::array converted(const py::array& array, const py::dtype& type, const std::string& what) {
  const auto numpy = py::module_::import("numpy");
  const auto can_cast = [&](const char* rule) {
    return numpy.attr("can_cast")(array.dtype(), type, rule).cast<bool>();
  };
  const auto mismatch = what + ": wanted " + text_of(type) + ", got " + text_of(array.dtype());
  if (array.size() > 0 && !can_cast("same_kind")) {
    throw Error(mismatch + "; convert it with .astype");
  }
  const py::array values = numpy.attr("ascontiguousarray")(array, py::arg("dtype") = type);
  if (type.kind() != 'f' && !can_cast("safe") &&
      !numpy.attr("array_equal")(array, values).cast<bool>()) {
    throw Error(mismatch + " with values that do not fit");
  }
  return values;
}

void check_length(std::size_t n_events, std::int64_t wanted, const std::string& what) {
  if (wanted >= 0 && n_events != static_cast<std::size_t>(wanted)) {
    throw Error(what + ": wanted one entry for each of " + std::to_string(wanted) +
                " events, got " + std::to_string(n_events));
  }
}

void check_offsets(std::span<const std::int64_t> offsets, std::size_t n_values,
                   const std::string& what) {
  const bool in_order = std::ranges::is_sorted(offsets);
  if (!in_order || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(n_values)) {
    throw Error(what +
                ": offsets begin with 0, do not decrease, and end with the number of values, " +
                std::to_string(n_values));
  }
}

void copy_values(Column& column, const py::array& values) {
  const auto n_bytes = static_cast<std::size_t>(values.nbytes());
  auto* to = column.resize_values(static_cast<std::size_t>(values.size()));
  if (n_bytes > 0) {
    std::memcpy(to, values.data(), n_bytes);
  }
}

}  // namespace

py::dtype dtype_of(ElementType element) {
  return py::dtype(element == ElementType::boolean ? "bool"
                                                   : ColumnType{element, Shape::scalar}.name());
}

py::object arrays_of(const Column& column) {
  auto values = view(column.values_buffer(), dtype_of(column.type().element), column.n_values());
  if (column.type().shape == Shape::scalar) {
    return values;
  }
  return py::make_tuple(
      view(column.offsets_buffer(), py::dtype::of<std::int64_t>(), column.n_events() + 1), values);
}

void fill_column(Column& column, const py::handle& arrays, std::int64_t n_events,
                 const std::string& what) {
  const auto type = column.type();
  if (type.shape == Shape::scalar) {
    const auto values = converted(one_dimensional(arrays, what), dtype_of(type.element), what);
    check_length(static_cast<std::size_t>(values.size()), n_events, what);
    return copy_values(column, values);
  }
  if (!py::isinstance<py::tuple>(arrays) || py::len(arrays) != 2) {
    throw Error(what + ": wanted (offsets, values) for type " + type.name());
  }
  const auto pair = py::reinterpret_borrow<py::tuple>(arrays);
  const auto offsets =
      converted(one_dimensional(pair[0], what), py::dtype::of<std::int64_t>(), what);
  const auto values = converted(one_dimensional(pair[1], what), dtype_of(type.element), what);
  if (offsets.size() == 0) {
    throw Error(what + ": there are no offsets; no events have the offsets [0]");
  }
  const auto n_offsets = static_cast<std::size_t>(offsets.size());
  check_length(n_offsets - 1, n_events, what);
  check_offsets({static_cast<const std::int64_t*>(offsets.data()), n_offsets},
                static_cast<std::size_t>(values.size()), what);
  std::memcpy(column.resize_offsets(n_offsets - 1).data(), offsets.data(),
              n_offsets * sizeof(std::int64_t));
  copy_values(column, values);
}

}  // namespace forkrun::bindings
