#include <pybind11/stl.h>

#include <forkrun/process/commit_counter.hpp>

#include "../bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

py::typing::Tuple<std::uint64_t, double, double, py::typing::List<py::bytes>> count_ledger(
    CommitCounter& counter, const std::string& path, const std::set<std::uint64_t>& apart) {
  const auto found = counter.read(path, apart);
  py::list others;
  for (const auto& line : found.others) {
    others.append(py::bytes{line});
  }
  return py::make_tuple(found.n_events, found.start_s, found.end_s, others);
}

}  // namespace

void register_commit_counter(py::module_& module) {
  py::class_<CommitCounter>(
      module, "CommitCounter",
      "Adds up commits by the lines of ledgers. A unit with two lines counts once.")
      .def(py::init<>())
      .def("read", &count_ledger, py::arg("path"), py::arg("apart"),
           R"(Counts the complete lines of a ledger, but commits that begin with units in `apart`.
Events, begin of the first commit and end of the last [s since the epoch, 0: there is none],
and complete lines that were not counted: damaged ones, of commits that leave events out,
and of units in `apart`. Raises InputError if the file cannot be read.)")
      .def(
          "put",
          [](CommitCounter& counter, std::uint64_t unit, std::uint64_t n_units,
             std::uint64_t n_events,
             std::uint64_t n_left_out) { counter.put(unit, {n_units, n_events, n_left_out}); },
          py::arg("unit"), py::arg("n_units"), py::arg("n_events"), py::arg("n_left_out"),
          "Counts a commit that begins with this unit, instead of one that was counted before.")
      .def(
          "total",
          [](const CommitCounter& counter) {
            const auto total = counter.total();
            return std::tuple{total.n_units, total.n_events, total.n_left_out};
          },
          "Units, events, and events left out.");
}

}  // namespace forkrun::bindings
