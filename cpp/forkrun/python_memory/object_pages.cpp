#include <forkrun/python_memory/object_pages.hpp>

#include <pybind11/numpy.h>

#include <algorithm>
#include <limits>

#include <forkrun/python_memory/object_array.hpp>
#include <forkrun/python_memory/object_walk.hpp>
#include <forkrun/python_memory/page_sizes.hpp>

namespace py = pybind11;

namespace forkrun::python_memory {

namespace {

constexpr std::size_t small_object = 512;  // pymalloc's largest size
constexpr std::size_t collector_header = 16;

std::size_t size_of_text(PyObject* text) {
  const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text));
  return PyUnicode_IS_COMPACT_ASCII(text)
             ? sizeof(PyASCIIObject) + length + 1
             : sizeof(PyCompactUnicodeObject) +
                   static_cast<std::size_t>(PyUnicode_KIND(text)) * (length + 1);
}

/// Size of the object itself, without anything it points to.
std::size_t size_of(PyObject* object) {
  const auto* type = Py_TYPE(object);
  const auto basic = static_cast<std::size_t>(type->tp_basicsize);
  if (PyUnicode_Check(object)) {
    return size_of_text(object);
  }
  if (PyLong_Check(object)) {  // Its number of digits is not public; most have one or two.
    return basic + 8;
  }
  // Other types have items, too, but no public count of them (generators, classes).
  if (PyTuple_Check(object) || PyBytes_Check(object) || PyCode_Check(object)) {
    const auto n_items = reinterpret_cast<PyVarObject*>(object)->ob_size;
    return basic + static_cast<std::size_t>(n_items * type->tp_itemsize);
  }
  return basic;
}

/// Size by `sys.getsizeof`, without the collector's header.
std::size_t whole_size_of(PyObject* object) {
  const auto size =
      py::reinterpret_steal<py::object>(PyObject_CallMethod(object, "__sizeof__", nullptr));
  if (!size) {
    PyErr_Clear();
    return size_of(object);
  }
  return size.cast<std::size_t>();
}

}  // namespace

void ObjectPages::walk(const std::string& owner, const py::object& root, bool everything) {
  owners_.push_back(owner);
  everything_ = everything;
  if (mark(root.ptr())) {
    count(root.ptr());
  }
  to_enter_.push_back(root.ptr());  // Always: another object may have been at its address.
  while (!to_enter_.empty()) {
    auto* object = to_enter_.back();
    to_enter_.pop_back();
    enter(object);
  }
}

int ObjectPages::visit(PyObject* object, void* self) {
  static_cast<ObjectPages*>(self)->meet(object);
  return 0;
}

/// False if it was marked before.
bool ObjectPages::mark(const PyObject* object) {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  auto& seen = pages_[address / page_bytes].seen;
  const auto place = address % page_bytes / 8;
  const auto bit = std::uint64_t{1} << (place % 64);
  const auto is_new = (seen[place / 64] & bit) == 0;
  seen[place / 64] |= bit;
  return is_new;
}

bool ObjectPages::is_border(PyObject* object) const {
  return !everything_ &&
         (PyType_Check(object) || PyModule_Check(object) || PyFunction_Check(object) ||
          PyCFunction_Check(object) || PyFrame_Check(object) || PyCode_Check(object));
}

void ObjectPages::meet(PyObject* object) {
  if (object == nullptr || is_border(object) || !mark(object)) {
    return;
  }
  count(object);
  const auto* type = Py_TYPE(object);
  if (type->tp_traverse != nullptr || type->tp_as_buffer != nullptr || PyCode_Check(object)) {
    to_enter_.push_back(object);
  }
}

/// The object itself.
void ObjectPages::count(PyObject* object) {
  const auto header = PyObject_IS_GC(object) ? collector_header : 0;
  const auto size = size_of(object) + header;
  add(reinterpret_cast<const char*>(object) - header, size, type_of(object), size <= small_object);
}

void ObjectPages::enter(PyObject* object) {
  if (is_array(object)) {
    enter_array(object);
  } else if (PyCode_Check(object)) {
    std::ranges::for_each(constants_of(*reinterpret_cast<PyCodeObject*>(object)),
                          [this](auto* constant) { meet(constant); });
  } else if (PyObject_CheckBuffer(object) != 0 && !PyBytes_Check(object)) {
    enter_buffer(object);
  }
  add_parts_of(object, type_of(object));
  // Objects unknown to the collector refer to nothing, or are not yet ready.
  if (Py_TYPE(object)->tp_traverse != nullptr && PyObject_IS_GC(object)) {
    Py_TYPE(object)->tp_traverse(object, &ObjectPages::visit, this);
  }
}

/// The values, unless another object owns them, and the objects among them.
void ObjectPages::enter_array(PyObject* object) {
  const auto array = py::reinterpret_borrow<py::array>(object);
  if (const auto base = array.base(); base && is_array(base.ptr())) {
    meet(base.ptr());
    return;
  }
  const auto kind = py::str(array.dtype()).cast<std::string>();
  add(array.data(), static_cast<std::size_t>(array.nbytes()), number_of("array of " + kind));
  if (array.dtype().kind() == 'O') {
    const auto values = std::span{static_cast<PyObject* const*>(array.data()),
                                  static_cast<std::size_t>(array.size())};
    std::ranges::for_each(values, [this](auto* value) { meet(value); });
  }
}

void ObjectPages::enter_buffer(PyObject* object) {
  Py_buffer buffer{};
  if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    return;
  }
  add(buffer.buf, static_cast<std::size_t>(buffer.len), type_of(object));
  PyBuffer_Release(&buffer);
}

/// Memory of lists, dicts and sets in addition to the object itself.
void ObjectPages::add_parts_of(PyObject* object, std::uint16_t type) {
  if (PyList_Check(object)) {
    const auto& list = *reinterpret_cast<PyListObject*>(object);
    add(list.ob_item, static_cast<std::size_t>(list.allocated) * sizeof(PyObject*), type);
  } else if (PyDict_Check(object)) {
    add_dict(object, type);
  } else if (PyAnySet_Check(object)) {
    const auto& set = *reinterpret_cast<PySetObject*>(object);
    if (set.table != set.smalltable) {
      add(set.table, static_cast<std::size_t>(set.mask + 1) * sizeof(setentry), type);
    }
  }
}

/// Table of a dict, and its keys: the collector does not visit keys that are text.
void ObjectPages::add_dict(PyObject* object, std::uint16_t type) {
  const auto& dict = *reinterpret_cast<PyDictObject*>(object);
  const void* table = dict.ma_values == nullptr ? static_cast<const void*>(dict.ma_keys)
                                                : static_cast<const void*>(dict.ma_values);
  const auto basic = static_cast<std::size_t>(Py_TYPE(object)->tp_basicsize);
  const auto whole = whole_size_of(object);
  add(table, whole - std::min(whole, basic), type);
  PyObject* key = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(object, &place, &key, nullptr) != 0;) {
    meet(key);
  }
}

void ObjectPages::add(const void* start, std::size_t n_bytes, std::uint16_t type, bool is_small) {
  auto address = reinterpret_cast<std::uint64_t>(start);
  if (start == nullptr) {
    return;
  }
  while (n_bytes > 0) {
    const auto n = std::min<std::size_t>(n_bytes, page_bytes - address % page_bytes);
    add_to_page(address / page_bytes, n, type, is_small);
    address += n;
    n_bytes -= n;
  }
}

void ObjectPages::add_to_page(std::uint64_t page, std::size_t n_bytes, std::uint16_t type,
                              bool is_small) {
  const auto owner = static_cast<std::uint16_t>(owners_.size() - 1);
  auto& parts = pages_[page].parts;
  const auto same = std::ranges::find_if(
      parts, [&](const auto& part) { return part.owner == owner && part.type == type; });
  if (same == parts.end()) {
    parts.push_back({owner, type, static_cast<std::uint16_t>(n_bytes), is_small});
    return;
  }
  // Memory claimed by two objects, such as two views of one buffer, cannot exceed the page.
  same->n_bytes = static_cast<std::uint16_t>(std::min(same->n_bytes + n_bytes, page_bytes));
  same->is_small |= is_small;
}

std::uint16_t ObjectPages::number_of(const std::string& type) {
  const auto [place, is_new] =
      type_numbers_.try_emplace(type, static_cast<std::uint16_t>(types_.size()));
  if (is_new && types_.size() == std::numeric_limits<std::uint16_t>::max()) {
    place->second = 0;  // No job has so many types; the rest counts as the first one.
  } else if (is_new) {
    types_.push_back(type);
  }
  return place->second;
}

std::uint16_t ObjectPages::type_of(const PyObject* object) {
  const auto* type = Py_TYPE(object);
  const auto known = known_types_.find(type);
  if (known != known_types_.end()) {
    return known->second;
  }
  const auto number = number_of(type->tp_name);
  known_types_.emplace(type, number);
  return number;
}

}  // namespace forkrun::python_memory
