#pragma once

#include <Python.h>

#include <cstddef>
#include <vector>

namespace forkrun::python_memory {

/// Number of objects, and bytes of the blocks that hold their reference counts (without arrays'
/// values and the tables of lists and dicts, which reading does not write).
struct ObjectCount {
  std::size_t n_objects = 0;
  std::size_t n_bytes = 0;

  /// True.
  bool add(PyObject* object);
};

/// Whether this Python has immortal objects, whose references are not counted.
[[nodiscard]] bool python_has_immortal_objects();

/// Counts everything that an ObjectWalk reaches.
[[nodiscard]] ObjectCount count_objects(const std::vector<PyObject*>& roots);

/// Makes everything that an ObjectWalk reaches immortal, so that reading it writes nothing: it has
/// no reference count, is out of the garbage collector's lists, and values computed at first use
/// (hashes, UTF-8 of text) are stored. Counts the objects that were mortal. Requires
/// python_has_immortal_objects().
ObjectCount make_immortal(const std::vector<PyObject*>& roots);

/// The same with the rest of the program: modules, classes, functions with their code, and
/// everything they hold; not running code. They stay in the garbage collector's lists.
ObjectCount make_program_immortal();

}  // namespace forkrun::python_memory
