#pragma once

#include <Python.h>

#include <cstdint>
#include <functional>

namespace forkrun::python_memory {

[[nodiscard]] bool is_array(PyObject* object);

/// Base, type and, where elements are Python objects, the elements: NumPy arrays hide their
/// references from the garbage collector. Structures with objects in their fields are followed,
/// too.
void for_each_reference(PyObject* array, const std::function<void(PyObject*)>& use);

/// Address of the values, their shape, and whether they may be written.
[[nodiscard]] std::uint64_t hash_of_array_header(PyObject* array);

}  // namespace forkrun::python_memory
