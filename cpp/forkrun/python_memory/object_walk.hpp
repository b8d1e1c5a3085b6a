#pragma once

#include <Python.h>

#include <array>
#include <functional>
#include <vector>

#include <forkrun/python_memory/pointer_set.hpp>

namespace forkrun::python_memory {

/// Visits the Python objects that can be reached from some roots, without recursion: a list may be
/// nested as deep as memory allows.
///
/// It follows what a condition is made of: items of containers, keys of dicts, attributes of
/// instances, elements and bases of NumPy arrays, what functions close over, their constants, and
/// what the classes of instances define. It stops at
///  - modules and their namespaces, so that it does not wander into the whole program;
///  - frames, generators, coroutines and tracebacks, which belong to running code;
///  - classes that are merely referred to.
/// It sees of objects written in C what they show the garbage collector. With `Scope::program` it
/// stops at running code only.
class ObjectWalk {
 public:
  enum class Scope { condition, program };

  /// Says whether to go on to what the object refers to: not, if it was visited before. It must not
  /// change references.
  using Visit = std::function<bool(PyObject*)>;

  explicit ObjectWalk(Visit visit, Scope scope = Scope::condition);

  /// Borrows the root.
  void from(PyObject* root);

 private:
  [[nodiscard]] bool is_border(PyObject* object) const;
  [[nodiscard]] bool goes_on_from(PyObject* object) const;
  void meet(PyObject* object);
  void expand(PyObject* object);
  void expand_dict(PyObject* dict);
  void expand_function(PyObject* function);
  void expand_code(PyObject* code);
  void expand_array(PyObject* array);
  void expand_class(PyTypeObject* type);
  void expand_names(PyTypeObject* type);
  static int on_reference(PyObject* object, void* walk);

  Visit visit_;
  Scope scope_;
  PointerSet namespaces_;
  PointerSet classes_;
  std::vector<PyObject*> waiting_;
};

/// Whether the walk may go on from an object: numbers and text, which are most of what there is,
/// and classes refer to nothing.
[[nodiscard]] bool may_refer(PyObject* object);

/// What a code object refers to; the garbage collector does not know it.
[[nodiscard]] std::array<PyObject*, 9> constants_of(const PyCodeObject& code);

/// Whether an object is an instance of a class written in Python.
[[nodiscard]] bool is_python_instance(PyObject* object);

}  // namespace forkrun::python_memory
