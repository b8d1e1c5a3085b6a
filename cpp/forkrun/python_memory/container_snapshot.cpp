#include <forkrun/python_memory/container_snapshot.hpp>

#include <string_view>

#include <forkrun/python_memory/object_array.hpp>
#include <forkrun/python_memory/object_walk.hpp>

namespace forkrun::python_memory {

namespace {

constexpr std::string_view function_cache = "functools._lru_cache_wrapper";

bool may_change(PyObject* object) {
  return PyDict_Check(object) || PyList_Check(object) || PySet_Check(object) ||
         PyByteArray_Check(object) || is_array(object) || is_python_instance(object);
}

/// Excludes numbers and text, and caches of functions, which are filled by use.
bool is_of_interest(PyObject* object) {
  return (may_refer(object) || PyByteArray_Check(object)) &&
         function_cache != Py_TYPE(object)->tp_name;
}

std::uint64_t hash_of_dict(PyObject* dict) {
  std::uint64_t hash = 0;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(dict, &position, &key, &value) != 0) {
    hash = mixed(hash ^ mixed(key)) ^ mixed(value);
  }
  return hash;
}

std::uint64_t hash_of_list(PyObject* list) {
  std::uint64_t hash = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    hash = mixed(hash ^ mixed(PyList_GET_ITEM(list, i)));
  }
  return hash;
}

std::uint64_t hash_of_bytes(PyObject* bytes) {
  const std::string_view text{PyByteArray_AS_STRING(bytes),
                              static_cast<std::size_t>(PyByteArray_GET_SIZE(bytes))};
  return std::hash<std::string_view>{}(text);
}

int add_reference(PyObject* object, void* hash) {
  if (!PyType_Check(object)) {
    *static_cast<std::uint64_t*>(hash) += mixed(object);
  }
  return 0;
}

/// Hash of the references that an object shows the garbage collector, in any order.
std::uint64_t hash_of_references(PyObject* object) {
  std::uint64_t hash = 0;
  if (PyObject_IS_GC(object) && Py_TYPE(object)->tp_traverse != nullptr) {
    Py_TYPE(object)->tp_traverse(object, add_reference, &hash);
  }
  return hash;
}

/// The same with a dict of attributes replaced by its values: Python makes that dict when a program
/// asks for `__dict__`, which is no change.
std::uint64_t hash_with_unpacked_attributes(PyObject* object) {
  auto hash = hash_of_references(object);
  PyObject* attributes = PyObject_GenericGetDict(object, nullptr);
  if (attributes == nullptr) {
    PyErr_Clear();
    return hash;
  }
  hash -= mixed(attributes);
  Py_ssize_t position = 0;
  PyObject* value = nullptr;
  while (PyDict_Next(attributes, &position, nullptr, &value) != 0) {
    add_reference(value, &hash);
  }
  Py_DECREF(attributes);
  return hash;
}

std::uint64_t hash_of(PyObject* object) {
  if (PyDict_CheckExact(object)) {
    return hash_of_dict(object);
  }
  if (PyList_CheckExact(object)) {
    return hash_of_list(object);
  }
  auto hash = hash_of_references(object);
  if (PyDict_Check(object)) {  // a subclass: items in order, and attributes
    hash += hash_of_dict(object);
  } else if (PyByteArray_Check(object)) {
    hash += hash_of_bytes(object);
  } else if (is_array(object)) {
    hash += hash_of_array_header(object);
  }
  return hash;
}

bool is_as_before(PyObject* object, std::uint64_t before) {
  return hash_of(object) == before ||
         (is_python_instance(object) && hash_with_unpacked_attributes(object) == before);
}

}  // namespace

ContainerSnapshot::ContainerSnapshot(const std::vector<Root>& roots) {
  std::size_t root = 0;
  PointerSet seen;
  ObjectWalk walk{[&](PyObject* object) {
    if (!is_of_interest(object) || !seen.insert(object)) {
      return false;
    }
    if (may_change(object)) {
      add(object, root);
    }
    return true;
  }};
  for (; root < roots.size(); ++root) {
    labels_.push_back(roots[root].label);
    walk.from(roots[root].object);
  }
  containers_.shrink_to_fit();
  roots_.shrink_to_fit();
}

ContainerSnapshot::~ContainerSnapshot() {
  for (const auto& container : containers_) {
    Py_DECREF(container.object);
  }
}

void ContainerSnapshot::add(PyObject* container, std::size_t root) {
  containers_.push_back({Py_NewRef(container), hash_of(container)});
  roots_.push_back(static_cast<std::uint32_t>(root));
}

ContainerSnapshot::Change ContainerSnapshot::first_change() const {
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    if (!is_as_before(containers_[i].object, containers_[i].hash)) {
      return {labels_[roots_[i]], containers_[i].object};
    }
  }
  return {};
}

}  // namespace forkrun::python_memory
