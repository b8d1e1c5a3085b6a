#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace forkrun::python_memory {

/// Pages of Python objects. Walks objects and everything they hold, like the garbage collector,
/// without touching reference counts; adds memory unknown to the collector: of NumPy arrays and
/// other buffers, of lists, dicts and sets. An object counts for the first owner walked. Needs some
/// 100 bytes per page, for any number of objects.
class ObjectPages {
 public:
  /// Part of a page: number of bytes used by objects of this type and owner.
  struct Part {
    std::uint16_t owner{};
    std::uint16_t type{};
    std::uint16_t n_bytes{};
    bool is_small{};  ///< in one of pymalloc's pools
  };

  /// Walks `root`. Not entered, unless `everything`: classes, modules, functions and frames, which
  /// lead to the whole interpreter.
  void walk(const std::string& owner, const pybind11::object& root, bool everything);

  [[nodiscard]] const std::vector<std::string>& owners() const { return owners_; }
  [[nodiscard]] const std::vector<std::string>& types() const { return types_; }
  /// Calls `visit(page, part)`, in any order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [page, content] : pages_) {
      for (const auto& part : content.parts) {
        visit(page, part);
      }
    }
  }

 private:
  /// A bit for every address at which an object may begin.
  static constexpr std::size_t n_places = 4096 / 8;
  struct Page {
    std::array<std::uint64_t, n_places / 64> seen{};
    std::vector<Part> parts;
  };

  static int visit(PyObject* object, void* self);
  bool mark(const PyObject* object);
  bool is_border(PyObject* object) const;
  void meet(PyObject* object);
  void count(PyObject* object);
  void enter(PyObject* object);
  void enter_array(PyObject* object);
  void enter_buffer(PyObject* object);
  void add_parts_of(PyObject* object, std::uint16_t type);
  void add_dict(PyObject* object, std::uint16_t type);
  void add(const void* start, std::size_t n_bytes, std::uint16_t type, bool is_small = false);
  void add_to_page(std::uint64_t page, std::size_t n_bytes, std::uint16_t type, bool is_small);
  std::uint16_t number_of(const std::string& type);
  std::uint16_t type_of(const PyObject* object);

  std::unordered_map<std::uint64_t, Page> pages_;
  std::vector<std::string> owners_;
  std::vector<std::string> types_;
  std::unordered_map<std::string, std::uint16_t> type_numbers_;
  std::unordered_map<const PyTypeObject*, std::uint16_t> known_types_;
  std::vector<PyObject*> to_enter_;
  bool everything_{};
};

}  // namespace forkrun::python_memory
