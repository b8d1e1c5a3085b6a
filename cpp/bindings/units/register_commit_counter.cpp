#include <pybind11/stl.h>

#include <forkrun/process/commit_counter.hpp>

#include "../bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

py::tuple count_ledger(CommitCounter& counter, const std::string& path,
                       const std::set<std::uint64_t>& apart) {
  const auto found = counter.read(path, apart);
  py::list others;
  for (const auto& line : found.others) {
    others.append(py::bytes{line});
  }
  return py::make_tuple(found.n_events, found.start_s, found.end_s, others);
}

}  // namespace

void register_commit_counter(py::module_& module) {
  py::class_<CommitCounter>(module, "CommitCounter")
      .def(py::init<>())
      .def("read", &count_ledger, py::arg("path"), py::arg("apart"))
      .def(
          "put",
          [](CommitCounter& counter, std::uint64_t unit, std::uint64_t n_units,
             std::uint64_t n_events,
             std::uint64_t n_left_out) { counter.put(unit, {n_units, n_events, n_left_out}); },
          py::arg("unit"), py::arg("n_units"), py::arg("n_events"), py::arg("n_left_out"))
      .def("total", [](const CommitCounter& counter) {
        const auto total = counter.total();
        return py::make_tuple(total.n_units, total.n_events, total.n_left_out);
      });
}

}  // namespace forkrun::bindings
