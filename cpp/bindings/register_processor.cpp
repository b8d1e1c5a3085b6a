#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <memory>
#include <optional>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/run/processor.hpp>
#include <forkrun/core/schedule/schedule.hpp>
#include <forkrun/formats/source/tree_source.hpp>
#include <forkrun/pages/page_watch.hpp>

#include "bindings.hpp"
#include "names.hpp"
#include "python/python_source.hpp"
#include "records.hpp"
#include "timing.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using pages::PageWatch;
using root_io::TreeSource;
/// Pages become private after borders; the caller's have this number and smaller ones.
constexpr std::uint32_t core_border = 15;
constexpr std::uint32_t first_node_border = 16;

/// Looks for new memory and new private pages before and after calls of modules.
Recorder::OnCall looker(PageWatch* watch, std::size_t child) {
  if (watch == nullptr) {
    return {};
  }
  return [=](std::uint32_t node, bool has_ended) {
    const auto border = has_ended ? first_node_border + node : core_border;
    watch->sample(child, static_cast<PageWatch::Border>(border));
  };
}

ProcessorConfig make_settings(const std::string& executor, std::size_t threads,
                              std::size_t concurrent_blocks, std::size_t block_size,
                              std::size_t concurrent_units, std::size_t concurrent_iovs,
                              bool timing, std::size_t n_trace_calls, bool reads_ahead) {
  return {
      executor_of(executor), threads,          concurrent_blocks, block_size, false,      timing,
      n_trace_calls,         concurrent_units, concurrent_iovs,   {},         reads_ahead};
}

std::unique_ptr<Processor> make_processor(Schedule& schedule, Source& source,
                                          const ProcessorConfig& settings, StatusBoard* board,
                                          std::size_t child, PageWatch* watch) {
  if (board != nullptr && child >= board->size()) {
    throw py::index_error("the status board has no child " + std::to_string(child));
  }
  auto config = settings;
  config.records = config.records || watch != nullptr;
  config.on_call = looker(watch, child);
  return std::make_unique<Processor>(schedule, source, config,
                                     board == nullptr ? nullptr : &(*board)[child]);
}

using Paths = std::map<std::string, std::string>;

/// File, first and end entry: (n_ranges, 3).
using Ranges = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

/// Lumis of the events of a unit: runs, lumis, and for each the end of its events; all of one
/// length.
using Lumis = std::array<py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>, 3>;

void add_lumis(UnitOfWork& unit, const Lumis& lumis) {
  const auto runs = lumis[0].unchecked<1>();
  const auto numbers = lumis[1].unchecked<1>();
  const auto lasts = lumis[2].unchecked<1>();
  for (py::ssize_t i = 0; i < runs.shape(0); ++i) {
    unit.lumis.push_back(
        {{static_cast<std::uint32_t>(runs(i)), static_cast<std::uint32_t>(numbers(i))},
         static_cast<std::size_t>(lasts(i))});
  }
}

void add_ranges(std::vector<EntryRange>& into, const Ranges& ranges) {
  const auto n_ranges = ranges.size() / 3;
  const auto* at = ranges.data();
  into.reserve(static_cast<std::size_t>(n_ranges));
  for (py::ssize_t i = 0; i < n_ranges; ++i, at += 3) {
    into.push_back({static_cast<std::uint32_t>(at[0]), at[1], at[2]});
  }
}

void expect(Source& source, const Ranges& ranges) {
  std::vector<EntryRange> found;
  add_ranges(found, ranges);
  source.expect(found);
}

UnitToDo make_unit(std::uint64_t number, std::uint32_t run, std::uint32_t lumi,
                   const Ranges& ranges, const Paths& outputs, std::uint32_t iov, bool alone,
                   const std::optional<Lumis>& lumis, std::size_t block_size,
                   std::uint32_t dataset) {
  UnitOfWork unit{number, {run, lumi}, {}, iov, {}, block_size, dataset};
  if (lumis) {
    add_lumis(unit, *lumis);
  }
  add_ranges(unit.ranges, ranges);
  return {std::move(unit), outputs, alone};
}

UnitResult process(Processor& processor, std::uint64_t number, std::uint32_t run,
                   std::uint32_t lumi, const Ranges& ranges, const Paths& outputs,
                   std::uint32_t iov, std::uint32_t dataset) {
  const auto to_do =
      make_unit(number, run, lumi, ranges, outputs, iov, false, std::nullopt, 0, dataset);
  const py::gil_scoped_release release;
  return processor.process(to_do.unit, to_do.outputs);
}

/// Exceptions of the functions leave `run`; the processor keeps them meanwhile.
void run(Processor& processor, const py::function& next_unit, const py::function& commit) {
  const NextUnit next = [&]() -> std::optional<UnitToDo> {
    const py::gil_scoped_acquire acquire;
    const auto unit = next_unit();
    return unit.is_none() ? std::nullopt : std::optional{unit.cast<UnitToDo>()};
  };
  const CommitUnit commit_unit = [&](const UnitOfWork& unit, const UnitResult& result) {
    const py::gil_scoped_acquire acquire;
    commit(unit.number, result);
  };
  const py::gil_scoped_release release;
  processor.run(next, commit_unit);
}

const Recorder& recorder_of(const Processor& processor) {
  if (processor.recorder() == nullptr) {
    throw Error("this processor does not record when modules are called");
  }
  return *processor.recorder();
}

py::typing::Dict<py::str, py::object> timing(const Processor& processor) {
  return timing_of(processor.graph(), recorder_of(processor));
}

std::vector<std::string> called(const Processor& processor) {
  const auto n_calls = recorder_of(processor).n_calls();
  std::vector<std::string> labels;
  for (std::size_t node = 0; node < n_calls.size(); ++node) {
    if (n_calls[node] > 0) {
      labels.push_back(*processor.graph().nodes[node].name);
    }
  }
  return labels;
}

py::array trace(const Processor& processor) { return trace_of(recorder_of(processor)); }

}  // namespace

void register_processor(py::module_& module) {
  py::class_<Source>(module, "Source", "Source of events.")
      .def(
          "expect", &expect, py::arg("ranges"),
          R"(Entries that this process will most likely read before others. `ranges` : (n_ranges, 3)
file, first and last of each, in input order.)");
  using root_io::EventSource;
  bind_record(
      module, "EventSource", "Where the events of a job are.", Field{"files", &EventSource::files},
      Field{"tree", &EventSource::tree, "in each file"},
      Field{"ids", &EventSource::ids,
            R"(Branches of run, lumi and number of an event; "": run 1, a lumi for each file, the
number of the entry.)"},
      Field{"columns", &EventSource::columns, "Name and type of the columns for modules."},
      Field{"clusters", &EventSource::clusters,
            "Per file: first entry of each cluster, then the number of entries."},
      Field{"identities", &EventSource::identities,
            "Per file, as indexed: UUID, bytes, modified_ns. None: files may change."},
      Field{"fills", &EventSource::fills,
            R"(By column that files may lack, its value and the branch that counts its values, or
"".)"},
      Field{
          "friends", &EventSource::friends,
          R"(Branches of event ids, a part for each file, and memory for unpacked data. A part: the
friend's files (path, tree, identity), and as columns of ranges of entries the first entry, the
number of the friend's file (negative: no partner), its first entry there, and whether all
entries have this one.)"},
      Field{"friend_columns", &EventSource::friend_columns,
            "By column, number of the friend, branch, and value of entries without a partner."},
      Field{"n_kept_bytes", &EventSource::n_kept_bytes,
            "Memory for unpacked data, where entries are not read in the order of the file."},
      Field{"format", &EventSource::format, R"(Format of the files; "": that of the outputs.)"},
      Field{"trees", &EventSource::trees, "Per file, if not all have `tree`."},
      Field{"expected", &EventSource::expected, "Columns that modules will request."})
      .def("tree_of", &EventSource::tree_of, py::arg("file"), "Table of events of a file.");
  py::class_<TreeSource, Source>(module, "TreeSource", "Opens nothing.")
      .def(py::init<const EventSource&>(), py::arg("events"));
  module.def(
      "python_source", &make_python_source, py::arg("events"), py::arg("read"), py::arg("read_ids"),
      R"(Events that Python reads: `read` gets ranges (file, first, last) and the name of a column,
and gives its values as `read_columns`; `read_ids` gives run, lumi and number of each event.)");
  py::class_<OutputSummary>(module, "OutputSummary")
      .def_readonly("label", &OutputSummary::label)
      .def_readonly("path", &OutputSummary::path)
      .def_readonly("written", &OutputSummary::written)
      .def_readonly("n_bytes", &OutputSummary::n_bytes)
      .def_readonly("checksum", &OutputSummary::checksum, "CRC-32C of the bytes to write.");
  py::class_<UnitResult>(module, "UnitResult")
      .def_readonly("read", &UnitResult::read)
      .def_readonly("outputs", &UnitResult::outputs)
      .def_readonly("wall_s", &UnitResult::wall_s)
      .def_readonly("cpu_s", &UnitResult::cpu_s)
      .def_readonly("n_column_bytes", &UnitResult::n_column_bytes,
                    "that the columns of a block took at most")
      .def_readonly("read_calls", &UnitResult::read_calls)
      .def_readonly("read_bytes", &UnitResult::read_bytes)
      .def_readonly("cached_bytes", &UnitResult::cached_bytes)
      .def_readonly("n_blocks", &UnitResult::n_blocks);
  py::class_<UnitToDo>(module, "UnitToDo")
      .def(py::init(&make_unit), py::arg("number"), py::arg("run"), py::arg("lumi"),
           py::arg("ranges"), py::arg("outputs"), py::arg("iov") = 0, py::arg("alone") = false,
           py::arg("lumis") = std::nullopt, py::arg("block_size") = 0, py::arg("dataset") = 0,
           R"(ranges: (file, first, last); outputs: paths by label; alone: never in flight together
with other units; lumis: runs, lumis and number of events up to the end of each, (n_lumis,)
each, if there are several; block_size: events, 0: as the settings say; dataset: number of
the one that all events belong to.)");
  py::class_<ProcessorConfig>(
      module, "ProcessorSettings",
      R"(Numbers of threads, and of blocks, units and IOVs in flight. `block_size`: events, 0: the source
chooses; `n_trace_calls`: number of calls that are recorded one by one; `reads_ahead`: one more
thread reads the columns of the next block, where there is one block at a time.)")
      .def(py::init(&make_settings), py::kw_only(), py::arg("executor"), py::arg("threads"),
           py::arg("concurrent_blocks"), py::arg("block_size"), py::arg("concurrent_units") = 1,
           py::arg("concurrent_iovs") = 1, py::arg("timing") = false, py::arg("n_trace_calls") = 0,
           py::arg("reads_ahead") = false);
  py::class_<Processor>(module, "Processor", "Starts threads: make it in the child.")
      .def(py::init(&make_processor), py::arg("schedule"), py::arg("source"), py::arg("settings"),
           py::arg("board") = nullptr, py::arg("child") = 0, py::arg("watch") = nullptr,
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), py::keep_alive<1, 5>(),
           py::keep_alive<1, 7>(),
           "`watch` looks before and after calls; the border is 15, and 16 + the node's number.")
      .def("process", &process, py::arg("number"), py::arg("run"), py::arg("lumi"),
           py::arg("ranges"), py::arg("outputs"), py::arg("iov") = 0, py::arg("dataset") = 0,
           "Processes one unit: ranges are (file, first, last). Releases the GIL.")
      .def(
          "run", &run, py::arg("next_unit"), py::arg("commit"),
          R"(Processes units until `next_unit` gives none; up to `concurrent_units` are in flight at a
time. `commit` gets number and result of each, in order, when its outputs are closed and
before histograms are filled with the next. Both are called on any thread; their exceptions
end the run. Releases the GIL.)")
      .def("stop", &Processor::stop,
           R"(Has `run` return when the committing unit is committed; units begun after it are
dropped. For `next_unit` and `commit`, or another thread.)")
      .def("timing", &timing, "Record so far, in the form of forkrun.monitoring.timing.record.")
      .def("called", &called, "Names of recorded modules and columns of the input.")
      .def("trace", &trace,
           "(n,) records of calls: thread, node, lane, run, lumi, sequence, start_ns, end_ns.")
      .def("finish", &Processor::finish, py::call_guard<py::gil_scoped_release>());
}

}  // namespace forkrun::bindings
