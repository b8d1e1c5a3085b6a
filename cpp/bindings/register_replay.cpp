#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <forkrun/replay/busy_wait.hpp>
#include <forkrun/replay/fill_ways.hpp>
#include <forkrun/replay/replay.hpp>

#include "bindings.hpp"
#include "names.hpp"

namespace forkrun::bindings {

namespace {

namespace py = pybind11;
using replay::Get;
using replay::ModuleDescription;
using replay::Replay;
using replay::Work;
using Times = py::array_t<double, py::array::c_style | py::array::forcecast>;

ModuleDescription describe(const std::string& label, const std::string& kind,
                           const std::string& concurrency, const std::string& work,
                           const std::string& get, const Times& event_times_s,
                           const std::vector<std::string>& consumes,
                           const std::vector<std::string>& produces) {
  return {label,
          kind == "filter",
          concurrency_of(concurrency),
          named<Work>({"none", "busywait", "fixedwork", "sleep", "async"}, "work", work),
          named<Get>({"prefetch", "blocking", "coroutine"}, "get", get),
          {event_times_s.data(), event_times_s.data() + event_times_s.size()},
          consumes,
          produces};
}

using ModulesOfPaths = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::unique_ptr<Replay> make_replay(const std::vector<ModuleDescription>& modules,
                                    const ModulesOfPaths& paths) {
  std::vector<PathDescription> described;
  described.reserve(paths.size());
  for (const auto& [name, labels] : paths) {
    described.push_back({name, labels});
  }
  return std::make_unique<Replay>(modules, described);
}

replay::Result run_replay(Replay& job, const std::string& executor, std::size_t threads,
                          std::size_t events_in_flight, std::size_t block_size, bool always_tasks,
                          std::int64_t first_event, std::int64_t n_events, double steps_per_s,
                          StatusBoard& board, std::size_t child) {
  const ProcessorConfig config{executor_of(executor), threads, events_in_flight, block_size,
                               always_tasks};
  return job.run({config, first_event, n_events, steps_per_s}, &board[child]);
}

std::pair<double, double> time_fills(const replay::Entries& entries, const std::string& way,
                                     std::size_t n_axes, std::size_t n_bins, bool is_weighted,
                                     std::size_t threads) {
  const auto time = replay::time_fills(
      entries, {n_axes, n_bins, is_weighted},
      named<replay::FillWay>({"copy", "lock", "buffer", "exact", "one_by_one"}, "way", way),
      threads);
  return {time.wall_s, time.cpu_s};
}

}  // namespace

void register_replay(py::module_& module) {
  py::class_<ModuleDescription>(module, "ReplayModule",
                                "A module that takes its time. `event_times_s`: (n,) float64 [s].")
      .def(py::init(&describe), py::arg("label"), py::arg("kind"), py::arg("concurrency"),
           py::arg("work"), py::arg("get"), py::arg("event_times_s"), py::arg("consumes"),
           py::arg("produces"));
  py::class_<replay::Result>(module, "ReplayResult")
      .def_readonly("checksum", &replay::Result::checksum)
      .def_readonly("start_s", &replay::Result::start_s)
      .def_readonly("end_s", &replay::Result::end_s)
      .def_readonly("cpu_s", &replay::Result::cpu_s);
  py::class_<Replay>(module, "Replay", "A compiled replay; can be run once per process.")
      .def(py::init(&make_replay), py::arg("modules"), py::arg("paths"))
      .def("run", &run_replay, py::kw_only(), py::arg("executor"), py::arg("threads"),
           py::arg("events_in_flight"), py::arg("block_size"), py::arg("always_tasks"),
           py::arg("first_event"), py::arg("n_events"), py::arg("steps_per_s"), py::arg("board"),
           py::arg("child"), py::call_guard<py::gil_scoped_release>());
  py::class_<replay::Entries>(module, "FillEntries", "Entries for histograms from 0 to 1.")
      .def(py::init<std::size_t>(), py::arg("n_entries"))
      .def(
          "time_fills", &time_fills, py::kw_only(), py::arg("way"), py::arg("n_axes"),
          py::arg("n_bins"), py::arg("is_weighted"), py::arg("threads"),
          py::call_guard<py::gil_scoped_release>(),
          R"(Wall and CPU time [s] of filling all of them. `way`: "copy", "lock", "buffer", "exact",
"one_by_one".)");
  module.def("measure_steps_per_s", &replay::measure_steps_per_s,
             py::call_guard<py::gil_scoped_release>());
}

}  // namespace forkrun::bindings
