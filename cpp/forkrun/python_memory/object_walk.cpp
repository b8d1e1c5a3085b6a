#include <forkrun/python_memory/object_walk.hpp>

#include <forkrun/python_memory/object_array.hpp>

namespace forkrun::python_memory {

namespace {

bool is_running_code(PyObject* object) {
  return PyFrame_Check(object) || PyGen_Check(object) || PyCoro_CheckExact(object) ||
         PyAsyncGen_CheckExact(object) || PyTraceBack_Check(object);
}

/// Whether a value in a class belongs to it: methods and plain tables do. Other objects (loggers,
/// registries, validators) belong to the program.
bool belongs_to_class(PyObject* value) {
  const auto* type = Py_TYPE(value);
  return PyFunction_Check(value) || type == &PyStaticMethod_Type || type == &PyClassMethod_Type ||
         type == &PyProperty_Type || PyDict_CheckExact(value) || PyList_CheckExact(value) ||
         PyTuple_CheckExact(value) || PyAnySet_CheckExact(value) || PyUnicode_CheckExact(value) ||
         PyBytes_CheckExact(value) || PyFloat_CheckExact(value) || PyLong_CheckExact(value) ||
         is_array(value);
}

}  // namespace

bool may_refer(PyObject* object) {
  return (PyObject_IS_GC(object) && !PyType_Check(object)) || PyCode_Check(object) ||
         is_array(object);
}

std::array<PyObject*, 9> constants_of(const PyCodeObject& code) {
  return {code.co_consts,          code.co_names,     code.co_localsplusnames,
          code.co_localspluskinds, code.co_filename,  code.co_name,
          code.co_qualname,        code.co_linetable, code.co_exceptiontable};
}

bool is_python_instance(PyObject* object) {
  // All classes written in Python, and only these, share one function that frees instances.
  static const auto dealloc = [] {
    PyObject* probe =
        PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){}", "_");
    const auto found = reinterpret_cast<PyTypeObject*>(probe)->tp_dealloc;
    Py_DECREF(probe);
    return found;
  }();
  return Py_TYPE(object)->tp_dealloc == dealloc;
}

ObjectWalk::ObjectWalk(Visit visit, Scope scope) : visit_{std::move(visit)}, scope_{scope} {
  if (scope == Scope::program) {
    return;
  }
  PyObject* modules = PyImport_GetModuleDict();
  namespaces_.insert(modules);
  Py_ssize_t position = 0;
  PyObject* module = nullptr;
  while (PyDict_Next(modules, &position, nullptr, &module) != 0) {
    if (PyModule_Check(module)) {
      namespaces_.insert(PyModule_GetDict(module));
    }
  }
}

void ObjectWalk::from(PyObject* root) {
  meet(root);
  while (!waiting_.empty()) {
    PyObject* object = waiting_.back();
    waiting_.pop_back();
    expand(object);
  }
}

bool ObjectWalk::is_border(PyObject* object) const {
  return is_running_code(object) ||
         (scope_ == Scope::condition &&
          (PyModule_Check(object) || (PyDict_CheckExact(object) && namespaces_.contains(object))));
}

bool ObjectWalk::may_continue_from(PyObject* object) const {
  return may_refer(object) || (scope_ == Scope::program && PyType_Check(object));
}

void ObjectWalk::meet(PyObject* object) {
  if (object == nullptr || is_border(object)) {
    return;
  }
  if (visit_(object) && may_continue_from(object)) {
    waiting_.push_back(object);
  }
}

void ObjectWalk::expand(PyObject* object) {
  if (PyFunction_Check(object) && scope_ == Scope::condition) {
    return expand_function(object);  // its namespace is the module's
  }
  if (PyCode_Check(object)) {
    return expand_code(object);
  }
  if (is_array(object)) {
    expand_array(object);
  } else if (PyDict_Check(object)) {
    expand_dict(object);
  }
  const auto* type = Py_TYPE(object);
  if (!PyDict_CheckExact(object) && PyObject_IS_GC(object) && type->tp_traverse != nullptr) {
    type->tp_traverse(object, &ObjectWalk::on_reference, this);
  }
  if (scope_ == Scope::condition) {
    expand_class(Py_TYPE(object));
  } else if (PyType_Check(object)) {
    expand_names(reinterpret_cast<PyTypeObject*>(object));
  }
}

int ObjectWalk::on_reference(PyObject* object, void* walk) {
  static_cast<ObjectWalk*>(walk)->meet(object);
  return 0;
}

/// The garbage collector does not visit text keys.
void ObjectWalk::expand_dict(PyObject* dict) {
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(dict, &position, &key, &value) != 0) {
    meet(key);
    meet(value);
  }
}

void ObjectWalk::expand_function(PyObject* function) {
  meet(PyFunction_GetCode(function));
  meet(PyFunction_GetDefaults(function));
  meet(PyFunction_GetKwDefaults(function));
  meet(PyFunction_GetClosure(function));
  meet(reinterpret_cast<PyFunctionObject*>(function)->func_dict);
}

void ObjectWalk::expand_code(PyObject* code) {
  for (PyObject* constant : constants_of(*reinterpret_cast<PyCodeObject*>(code))) {
    meet(constant);
  }
}

void ObjectWalk::expand_array(PyObject* array) {
  for_each_reference(array, [this](PyObject* object) { meet(object); });
}

/// The garbage collector does not visit text.
void ObjectWalk::expand_names(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) {
    const auto* heap_type = reinterpret_cast<PyHeapTypeObject*>(type);
    meet(heap_type->ht_name);
    meet(heap_type->ht_qualname);
    meet(heap_type->ht_slots);
  }
}

void ObjectWalk::expand_class(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || !classes_.insert(type)) {
    return;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if ((base->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
      continue;
    }
    meet(reinterpret_cast<PyObject*>(base));
    Py_ssize_t position = 0;
    PyObject* value = nullptr;
    while (PyDict_Next(base->tp_dict, &position, nullptr, &value) != 0) {
      if (belongs_to_class(value)) {
        meet(value);
      }
    }
  }
}

}  // namespace forkrun::python_memory
