#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

namespace forkrun::python_memory {

/// Remembers the references of every mutable container that can be reached from some roots: lists,
/// dicts, sets, bytearrays, instances of Python's classes, and headers of arrays. Twenty bytes for
/// each; comparing reads the containers and writes nothing, so that a child can do it on shared
/// memory.
///
/// Compares the identity of the referenced objects, not their values. Objects that cannot change
/// (numbers, text, tuples) are the same if they are the same object. Contents of read-only arrays
/// are not compared, nor the state of objects written in C; caches of functools are left out.
class ContainerSnapshot {
 public:
  struct Root {
    std::string label;
    PyObject* object;
  };

  /// Borrows the roots; keeps a reference to every container.
  explicit ContainerSnapshot(const std::vector<Root>& roots);
  ~ContainerSnapshot();
  ContainerSnapshot(const ContainerSnapshot&) = delete;
  ContainerSnapshot& operator=(const ContainerSnapshot&) = delete;

  [[nodiscard]] std::size_t size() const { return containers_.size(); }

  /// Label of the root and first container with changed references; null if none.
  struct Change {
    std::string label;
    PyObject* container = nullptr;
  };
  [[nodiscard]] Change first_change() const;

 private:
  void add(PyObject* container, std::size_t root);

  struct Container {
    PyObject* object;
    std::uint64_t hash;
  };
  std::vector<Container> containers_;
  std::vector<std::uint32_t> roots_;  // of each container
  std::vector<std::string> labels_;
};

}  // namespace forkrun::python_memory
