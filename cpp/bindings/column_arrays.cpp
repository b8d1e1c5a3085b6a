#include "column_arrays.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>

#include "python/kept_memory.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// Shape of an array: the number of items, then the dimensions of one item.
std::vector<py::ssize_t> shape_of(std::size_t n_items, const ColumnType& type) {
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(n_items)};
  for (const auto size : type.dimensions) {
    if (size > 0) {
      shape.push_back(static_cast<py::ssize_t>(size));
    }
  }
  return shape;
}

/// Share in a column's memory, for an array.
class Held {
 public:
  explicit Held(std::shared_ptr<const Buffer> buffer) : buffer_{std::move(buffer)} {
    add_held_bytes(n_bytes());
  }
  ~Held() { add_held_bytes(-n_bytes()); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  [[nodiscard]] std::int64_t n_bytes() const {
    return buffer_ ? static_cast<std::int64_t>(buffer_->capacity()) : 0;
  }
  std::shared_ptr<const Buffer> buffer_;
};

/// Array on a column's memory, with a share in it as the base.
py::array view(const std::shared_ptr<const Buffer>& buffer, const py::dtype& type,
               const std::vector<py::ssize_t>& shape) {
  static const std::byte nothing{};
  const py::capsule owner{new Held{buffer}, [](void* held) { delete static_cast<Held*>(held); }};
  std::vector<py::ssize_t> strides(shape.size(), type.itemsize());
  for (auto i = shape.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * shape[i];
  }
  py::array array{type, shape, strides, buffer ? buffer->data() : &nothing, owner};
  array.attr("flags").attr("writeable") = false;
  return array;
}

std::string text_of(const py::handle& object) { return py::str(object).cast<std::string>(); }

/// `type`: the column's.
py::array items_of(const py::handle& object, const ColumnType& type, const std::string& what) {
  auto array = py::array::ensure(object);
  auto wanted = shape_of(0, type);
  if (array && array.ndim() > 0) {
    wanted[0] = array.shape(0);
  }
  if (!array || wanted != std::vector<py::ssize_t>{array.shape(), array.shape() + array.ndim()}) {
    PyErr_Clear();
    throw Error(what + ": wanted arrays as in " + type.name() + ", got " +
                (array ? text_of(array.attr("shape")) : text_of(py::type::of(object))));
  }
  return array;
}

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

/// Converts by NumPy's rule "same_kind": floating point may be rounded, an integer that does not
/// fit is an error. An empty array has no wrong type.
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
    throw Error(what + ": wanted one entry for each of " + counted(wanted, "event") + ", got " +
                std::to_string(n_events));
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
  if (element == ElementType::character) {
    return py::dtype("S1");
  }
  return py::dtype(element == ElementType::boolean ? "bool"
                                                   : ColumnType{element, Shape::scalar}.name());
}

py::object arrays_of(const Column& column) {
  const auto type = column.type();
  auto values = view(column.values_buffer(), dtype_of(type.element),
                     shape_of(column.n_values() / type.n_in_item(), type));
  if (type.shape == Shape::scalar) {
    return values;
  }
  py::list arrays;
  for (std::size_t level = 0; level < type.n_levels(); ++level) {
    arrays.append(view(column.offsets_buffer(level), py::dtype::of<std::int64_t>(),
                       {static_cast<py::ssize_t>(column.n_lists(level) + 1)}));
  }
  arrays.append(values);
  return py::tuple{arrays};
}

namespace {

std::span<const std::int64_t> as_span(const py::array& offsets) {
  return {static_cast<const std::int64_t*>(offsets.data()),
          static_cast<std::size_t>(offsets.size())};
}

py::array offsets_from(const py::handle& object, const std::string& what) {
  auto offsets = converted(one_dimensional(object, what), py::dtype::of<std::int64_t>(), what);
  if (offsets.size() == 0) {
    throw Error(what + ": offsets are missing; without events they are [0]");
  }
  return offsets;
}

}  // namespace

void fill_column(Column& column, const py::handle& arrays, std::int64_t n_events,
                 const std::string& what) {
  const auto type = column.type();
  const auto n_levels = type.n_levels();
  py::tuple parts;
  if (n_levels == 0) {
    parts = py::make_tuple(py::reinterpret_borrow<py::object>(arrays));
  } else if (py::isinstance<py::tuple>(arrays)) {
    parts = py::reinterpret_borrow<py::tuple>(arrays);
  }
  if (parts.size() != n_levels + 1) {
    throw Error(what + ": wanted (offsets, values)" +
                (n_levels > 1 ? " with one array of offsets a level" : "") + " for type " +
                type.name());
  }
  const auto values =
      converted(items_of(parts[n_levels], type, what), dtype_of(type.element), what);
  auto n_below = static_cast<std::size_t>(values.shape(0));
  for (auto level = n_levels; level-- > 0;) {
    const auto offsets = offsets_from(parts[level], what);
    check_offsets(as_span(offsets), n_below, what);
    n_below = static_cast<std::size_t>(offsets.size()) - 1;
    std::ranges::copy(as_span(offsets), column.resize_offsets(n_below, level).begin());
  }
  check_length(n_below, n_events, what);
  copy_values(column, values);
}

}  // namespace forkrun::bindings
