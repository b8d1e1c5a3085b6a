#pragma once

#include <Python.h>

#include <array>
#include <functional>
#include <vector>

#include <forkrun/python_memory/pointer_set.hpp>

namespace forkrun::python_memory {

/// Visits the Python objects that can be reached from some roots, without recursion: lists may be
/// nested as deep as memory allows.
///
/// It follows the parts of conditions: items of containers, keys of dicts, attributes of instances,
/// elements and bases of NumPy arrays, closures of functions, their constants, and members of the
/// classes of instances. It stops at
///  - modules and their namespaces, so that it does not wander into the whole program;
///  - frames, generators, coroutines and tracebacks, which belong to running code;
///  - classes that are only referred to.
/// Of objects written in C it sees the references shown to the garbage collector. With
/// `Scope::program` it stops at running code only.
class ObjectWalk {
 public:
  enum class Scope { condition, program };

  /// Returns whether to continue to the object's references: false, if it was visited before. It
  /// must not change references.
  using Visit = std::function<bool(PyObject*)>;

  explicit ObjectWalk(Visit visit, Scope scope = Scope::condition);

  /// Borrows the root.
  void from(PyObject* root);

 private:
  [[nodiscard]] bool is_border(PyObject* object) const;
  [[nodiscard]] bool may_continue_from(PyObject* object) const;
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

/// Whether the walk may continue from an object: numbers and text, the most frequent objects, and
/// classes refer to nothing.
[[nodiscard]] bool may_refer(PyObject* object);

/// References of a code object, unknown to the garbage collector.
[[nodiscard]] std::array<PyObject*, 9> constants_of(const PyCodeObject& code);

/// Whether an object is an instance of a class written in Python.
[[nodiscard]] bool is_python_instance(PyObject* object);

}  // namespace forkrun::python_memory
