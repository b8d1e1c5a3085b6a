#pragma once

#include <Python.h>

#include <cstddef>
#include <vector>

namespace forkrun::python_memory {

/// Number of objects, and the bytes of the blocks that hold their reference counts (not of arrays'
/// values or of the tables of lists and dicts, which reading does not write to).
struct ObjectCount {
  std::size_t n_objects = 0;
  std::size_t n_bytes = 0;

  /// True.
  bool add(PyObject* object);
};

/// Whether this Python knows objects that are never freed, and so does not count what refers to
/// them.
[[nodiscard]] bool python_has_immortal_objects();

/// Everything that an ObjectWalk reaches.
[[nodiscard]] ObjectCount count_objects(const std::vector<PyObject*>& roots);

/// Everything that an ObjectWalk reaches is never freed again, and reading it writes nothing: it
/// has no reference count, is out of the garbage collector's lists, and what is computed at the
/// first use (hashes, UTF-8 of text) is there. Counts those that were mortal. Only where
/// python_has_immortal_objects().
ObjectCount make_immortal(const std::vector<PyObject*>& roots);

/// The same with the rest of the program: modules, classes, functions with their code, and all
/// that they hold; not what is running. They stay in the garbage collector's lists.
ObjectCount make_program_immortal();

}  // namespace forkrun::python_memory
