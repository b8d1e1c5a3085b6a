#include <forkrun/python_memory/object_array.hpp>

#include <pybind11/numpy.h>

#include <cstring>
#include <span>
#include <vector>

#include <forkrun/python_memory/pointer_set.hpp>

namespace py = pybind11;

namespace forkrun::python_memory {

namespace {

/// Offsets of pointers to objects in an element.
void find_objects(const py::dtype& type, std::size_t offset, std::vector<std::size_t>& offsets) {
  if (type.kind() == 'O') {
    offsets.push_back(offset);
  } else if (type.has_fields()) {
    for (const auto& [name, field] : py::dict{type.attr("fields")}) {
      const auto place = py::reinterpret_borrow<py::tuple>(field);
      find_objects(py::dtype{place[0]}, offset + place[1].cast<std::size_t>(), offsets);
    }
  }
}

std::vector<std::size_t> object_offsets(const py::array& array) {
  std::vector<std::size_t> offsets;
  if (array.dtype().attr("hasobject").cast<bool>()) {
    find_objects(array.dtype(), 0, offsets);
  }
  return offsets;
}

/// Address of every element, for any strides.
void for_each_element(const py::array& array, const std::function<void(const std::byte*)>& use) {
  const auto n_dimensions = static_cast<std::size_t>(array.ndim());
  std::vector<py::ssize_t> index(n_dimensions, 0);
  const auto* element = static_cast<const std::byte*>(array.data());
  for (py::ssize_t i = 0; i < array.size(); ++i) {
    use(element);
    for (auto d = n_dimensions; d-- > 0;) {
      const auto dimension = static_cast<py::ssize_t>(d);
      element += array.strides(dimension);
      if (++index[d] < array.shape(dimension)) {
        break;
      }
      element -= array.strides(dimension) * array.shape(dimension);
      index[d] = 0;
    }
  }
}

}  // namespace

bool is_array(PyObject* object) { return py::detail::npy_api::get().PyArray_Check_(object); }

void for_each_reference(PyObject* object, const std::function<void(PyObject*)>& use) {
  const auto array = py::reinterpret_borrow<py::array>(object);
  use(py::detail::array_proxy(object)->base);
  use(py::detail::array_proxy(object)->descr);
  const auto offsets = object_offsets(array);
  if (offsets.empty()) {
    return;
  }
  for_each_element(array, [&](const std::byte* element) {
    for (const auto offset : offsets) {
      PyObject* item = nullptr;
      std::memcpy(&item, element + offset, sizeof(PyObject*));
      use(item);
    }
  });
}

std::uint64_t hash_of_array_header(PyObject* object) {
  const auto* array = py::detail::array_proxy(object);
  constexpr auto writeable = static_cast<int>(py::detail::npy_api::NPY_ARRAY_WRITEABLE_);
  auto hash = mixed(mixed(array->data) ^ static_cast<std::uint64_t>(array->flags & writeable));
  for (int i = 0; i < array->nd; ++i) {
    hash = mixed(hash ^ static_cast<std::uint64_t>(array->dimensions[i]));
  }
  return hash;
}

}  // namespace forkrun::python_memory
