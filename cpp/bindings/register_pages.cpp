#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <system_error>

#include <forkrun/pages/page_table.hpp>
#include <forkrun/pages/page_watch.hpp>
#include <forkrun/python_memory/object_pages.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

using namespace forkrun::python_memory;

namespace {

using pages::PageCounts;
using pages::PageWatch;

/// Flat, for NumPy.
struct PrivateRecord {
  std::uint64_t page;
  std::uint16_t border;
};
struct PartRecord {
  std::uint64_t page;
  std::uint16_t owner, type, n_bytes;
  bool is_small;
};

/// Once, at first use: NumPy is loaded only when needed.
void describe_records() {
  static const bool is_done = [] {
    PYBIND11_NUMPY_DTYPE(PrivateRecord, page, border);
    PYBIND11_NUMPY_DTYPE(PartRecord, page, owner, type, n_bytes, is_small);
    return true;
  }();
  static_cast<void>(is_done);
}

py::array found(const PageWatch& watch, std::size_t child) {
  describe_records();
  const auto pages = watch.found(child);
  py::array_t<PrivateRecord> records(static_cast<py::ssize_t>(pages.size()));
  std::ranges::transform(pages, records.mutable_data(),
                         [](const auto& page) { return PrivateRecord{page.page, page.border}; });
  return records;
}

py::array_t<std::uint64_t> pages_at_fork(const PageWatch& watch) {
  const auto pages = watch.pages_at_fork();
  return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(pages.size()), pages.data());
}

py::array parts(const ObjectPages& pages) {
  describe_records();
  std::vector<PartRecord> records;
  pages.for_each([&](std::uint64_t page, const ObjectPages::Part& part) {
    records.push_back({page, part.owner, part.type, part.n_bytes, part.is_small});
  });
  return py::array_t<PartRecord>(static_cast<py::ssize_t>(records.size()), records.data());
}

/// Raises OSError with its number.
void translate_system_error(std::exception_ptr raised) {
  try {
    if (raised) {
      std::rethrow_exception(std::move(raised));
    }
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.what());
  }
}

}  // namespace

void register_pages(py::module_& module) {
  py::register_exception_translator(&translate_system_error);
  py::class_<PageCounts>(module, "PageCounts", "Sizes of a process's memory, by its page table.")
      .def_readonly("resident", &PageCounts::resident)
      .def_readonly("resident_private", &PageCounts::resident_private, "no other process maps it")
      .def_readonly("anonymous", &PageCounts::anonymous, "no page of a file")
      .def_readonly("anonymous_private", &PageCounts::anonymous_private)
      .def_readonly("longest_read_ns", &PageCounts::longest_read_ns,
                    "CPU time of one piece: the time for which the process was stopped");
  module.def(
      "count_pages", &pages::count_pages, py::arg("pid") = 0,
      R"(Counts the pages of a process (0: this one), in pieces that stop it for microseconds only.
Raises OSError if it has ended or may not be read.)");
  module.def("page_size", &pages::page_size);
  py::class_<PageWatch>(
      module, "PageWatch",
      R"(Finds pages that a child shared with its parent at the fork and that became private later.
Make it in the parent, just before the fork. Raises OSError where the kernel does
not show page tables.)")
      .def(py::init<std::size_t, double>(), py::arg("n_children"), py::arg("max_share") = 1.0,
           "`max_share`: largest part of a child's CPU time in which it reads its page table.")
      .def("sample", &PageWatch::sample, py::arg("child"), py::arg("border"),
           py::arg("is_needed") = false,
           R"(In the child: notes `border` (1 to 65534) for new memory and pages that have become
private. Leaves the pages to a later sample if they cost too much time, unless `is_needed`.)")
      .def("grown", &PageWatch::grown, py::arg("child"),
           "New anonymous memory since the first sample, in bytes, by border.")
      .def("found", &found, py::arg("child"),
           "(n,) records: page (address / page size), border; in the order of addresses.")
      .def("pages_at_fork", &pages_at_fork, "(n,) all anonymous pages of the parent, in order.");
  py::class_<ObjectPages>(module, "ObjectPages",
                          "Pages of Python objects. An object counts for the first owner walked.")
      .def(py::init())
      .def("walk", &ObjectPages::walk, py::arg("owner"), py::arg("root"),
           py::arg("everything") = false,
           R"(`root` and all that it holds; not through classes, modules and functions, unless
`everything`.)")
      .def(
          "parts", &parts,
          R"((n,) records: page (address / 4096), owner and type (numbers), n_bytes, is_small (in one
of pymalloc's pools); in any order.)")
      .def_property_readonly("owners", &ObjectPages::owners)
      .def_property_readonly("types", &ObjectPages::types);
}

}  // namespace forkrun::bindings
