#include <forkrun/python_memory/immortal.hpp>

#include <datetime.h>

#include <cstdint>
#include <cstdlib>

#include <forkrun/python_memory/object_walk.hpp>

namespace forkrun::python_memory {

namespace {

#if PY_VERSION_HEX >= 0x030C0000

// Py_INCREF leaves alone a count of exactly this value (3.12, 3.13) or of at least this (3.14).
#if PY_VERSION_HEX >= 0x030E0000
constexpr auto immortal_count = static_cast<Py_ssize_t>(_Py_IMMORTAL_INITIAL_REFCNT);
#else
constexpr auto immortal_count = static_cast<Py_ssize_t>(_Py_IMMORTAL_REFCNT);
#endif

void stop_counting(PyObject* object) {
#ifdef Py_GIL_DISABLED
  object->ob_tid = 0;
  object->ob_ref_local = _Py_IMMORTAL_REFCNT_LOCAL;
  object->ob_ref_shared = 0;
#else
  Py_SET_REFCNT(object, immortal_count);
#endif
}

bool is_immortal(PyObject* object) { return _Py_IsImmortal(object) != 0; }

int add_to(PyObject* object, void* objects) {
  static_cast<std::vector<PyObject*>*>(objects)->push_back(object);
  return 1;
}

std::vector<PyObject*> all_containers() {
  std::vector<PyObject*> objects;
  PyUnstable_GC_VisitObjects(add_to, &objects);
  return objects;
}

#else

std::vector<PyObject*> all_containers() { return {}; }
void stop_counting(PyObject*) {}
bool is_immortal(PyObject*) { return false; }

#endif

bool keeps_its_hash(PyObject* object) {
  return PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyFrozenSet_CheckExact(object) || PyDelta_CheckExact(object) ||
         PyDateTime_CheckExact(object) || PyDate_CheckExact(object) || PyTime_CheckExact(object);
}

/// Computes values that the object would store at its first use.
void fill_caches(PyObject* object) {
  if (keeps_its_hash(object)) {
    PyObject_Hash(object);
  }
  if (PyUnicode_CheckExact(object) && !PyUnicode_IS_ASCII(object)) {
    PyUnicode_AsUTF8(object);
  }
  PyErr_Clear();  // text with half a surrogate pair has no UTF-8
}

/// The collector's lists run through the objects: the end of a mortal neighbour would write here.
/// Classes and functions must stay in a list.
void leave_collector(PyObject* object) {
  if (PyObject_IS_GC(object) && !PyType_Check(object) && !PyFunction_Check(object)) {
    PyObject_GC_UnTrack(object);
  }
}

std::size_t block_size(PyObject* object) {
  const auto* type = Py_TYPE(object);
  auto size = static_cast<std::size_t>(type->tp_basicsize);
  if (PyUnicode_Check(object)) {
    size += static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)) * PyUnicode_KIND(object);
  } else if (type->tp_itemsize > 0 && !PyLong_Check(object) && !PyType_Check(object)) {
    size += static_cast<std::size_t>(std::abs(Py_SIZE(object)) * type->tp_itemsize);
  }
  return size + (PyObject_IS_GC(object) ? 2 * sizeof(void*) : 0);
}

ObjectCount keep_for_ever(const std::vector<PyObject*>& roots, ObjectWalk::Scope scope) {
  PyDateTime_IMPORT;
  ObjectCount count;
  const auto visit = [&](PyObject* object) {
    if (is_immortal(object)) {
      return false;
    }
    fill_caches(object);
    if (scope == ObjectWalk::Scope::condition) {
      leave_collector(object);
    }
    stop_counting(object);
    return count.add(object);
  };
  ObjectWalk walk{visit, scope};
  for (PyObject* root : roots) {
    walk.from(root);
  }
  return count;
}

}  // namespace

bool ObjectCount::add(PyObject* object) {
  ++n_objects;
  n_bytes += block_size(object);
  return true;
}

bool python_has_immortal_objects() { return PY_VERSION_HEX >= 0x030C0000; }

ObjectCount count_objects(const std::vector<PyObject*>& roots) {
  ObjectCount count;
  PointerSet seen;
  ObjectWalk walk{[&](PyObject* object) { return seen.insert(object) && count.add(object); }};
  for (PyObject* root : roots) {
    walk.from(root);
  }
  return count;
}

ObjectCount make_immortal(const std::vector<PyObject*>& roots) {
  return keep_for_ever(roots, ObjectWalk::Scope::condition);
}

ObjectCount make_program_immortal() {
  return keep_for_ever(all_containers(), ObjectWalk::Scope::program);
}

}  // namespace forkrun::python_memory
