#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include <forkrun/formats/lcio/event_output.hpp>
#include <forkrun/formats/lcio/event_source.hpp>
#include <forkrun/formats/lcio/file_index.hpp>
#include <forkrun/formats/output/make_outputs.hpp>

#include "../bindings.hpp"
#include "../column_arrays.hpp"
#include "../records.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Names = std::vector<std::string>;

/// Open file, and its columns, which are found at first use.
class OpenLcio {
 public:
  explicit OpenLcio(const std::string& path) : file_{path} {}

  [[nodiscard]] const lcio::EventFile& file() const { return file_; }

  std::vector<Column> read(const Names& names, std::int64_t first, std::int64_t last) {
    if (columns_.empty()) {
      columns_ = lcio::index_file(file_, 0).columns;
    }
    return lcio::read_columns(file_, lcio::columns_named(file_.path(), columns_, names), first,
                              last);
  }

 private:
  lcio::EventFile file_;
  std::vector<ColumnDescription> columns_;
};

template <typename T, typename Of>
py::array_t<T> numbers_of(const std::vector<EventId>& events, const Of& of) {
  py::array_t<T> numbers{static_cast<py::ssize_t>(events.size())};
  std::ranges::transform(events, numbers.mutable_data(), of);
  return numbers;
}

/// Number, place and end of each run header.
py::typing::List<py::typing::Tuple<int, std::int64_t, std::int64_t>> runs_of(const OpenLcio& open) {
  py::list runs;
  for (const auto& run : open.file().runs()) {
    runs.append(py::make_tuple(run.header.run, run.head.place, run.head.end()));
  }
  return runs;
}

/// Columns, clusters, ids of events and run headers, and the file's identity.
py::typing::Dict<py::str, py::object> index_of(const OpenLcio& open,
                                               std::uint32_t events_per_lumi) {
  lcio::FileIndex index;
  {
    const py::gil_scoped_release release;
    index = lcio::index_file(open.file(), events_per_lumi);
  }
  py::dict found;
  found["branches"] = index.columns;
  found["clusters"] = index.clusters;
  found["identity"] = index.identity;
  found["status"] = py::make_tuple(open.file().n_bytes(), open.file().modified_ns());
  found["runs"] = runs_of(open);
  found["run"] = numbers_of<std::uint64_t>(index.events, [](const auto& id) { return id.run; });
  found["lumi"] = numbers_of<std::uint64_t>(index.events, [](const auto& id) { return id.lumi; });
  found["event"] = numbers_of<std::uint64_t>(index.events, [](const auto& id) { return id.event; });
  return found;
}

py::typing::Dict<py::str, py::object> read(OpenLcio& open, const Names& names, std::int64_t first,
                                           std::int64_t last) {
  std::vector<Column> columns;
  {
    const py::gil_scoped_release release;
    columns = open.read(names, first, last);
  }
  py::dict arrays;
  for (std::size_t i = 0; i < names.size(); ++i) {
    arrays[py::str(names[i])] = arrays_of(columns[i]);
  }
  return arrays;
}

std::vector<std::vector<std::int64_t>> make_outputs(
    const std::vector<root_io::OutputToMake>& outputs, lcio::EventSource& source,
    std::size_t n_threads, bool verify, const std::function<void(std::size_t)>& on_open) {
  lcio::EventInput input{source, verify, on_open};
  return root_io::make_outputs(outputs, input, n_threads);
}

std::span<const std::byte> bytes_of(const py::bytes& from) {
  return std::as_bytes(std::span{std::string_view{from}});
}

lcio::InputRecords::Header header_of(std::int32_t run, const py::bytes& record) {
  const auto bytes = bytes_of(record);
  return {run, {bytes.begin(), bytes.end()}};
}

std::unique_ptr<lcio::EventSource> make_lcio_source(const root_io::EventSource& events,
                                                    std::uint32_t events_per_lumi) {
  lcio::EventSourceConfig config{
      {}, events_per_lumi, events.columns, events.clusters, events.expected};
  for (std::size_t i = 0; i < events.files.size(); ++i) {
    const auto known =
        i < events.identities.size() ? events.identities[i] : root_io::FileIdentity{};
    config.files.push_back({events.files[i], known.n_bytes, known.modified_ns});
  }
  return std::make_unique<lcio::EventSource>(std::move(config));
}

}  // namespace

void register_lcio(py::module_& module) {
  py::class_<OpenLcio>(module, "OpenLcio", "A file of LCIO that stays open. Raises InputError.")
      .def(py::init<const std::string&>(), py::arg("path"))
      .def("runs", &runs_of, "Number, first byte and end of each run header.")
      .def("index", &index_of, py::arg("events_per_lumi") = 0,
           R"(`branches`: name and type of each column; `clusters`: first event of each, then the
number of events; `identity`: two numbers of 64 bits that tell the file from others;
`status`: bytes of the file, and when it was written [ns], 0: not known; `run`,
`lumi`, `event`: (n,) uint64; `runs`: as `runs()`. `events_per_lumi`: 0: each run is one
lumi.)")
      .def("read", &read, py::arg("names"), py::arg("first") = 0, py::arg("last") = -1,
           "Like `read_columns`.");
  py::class_<lcio::EventSource, Source>(module, "LcioSource")
      .def(py::init(&make_lcio_source), py::arg("events"), py::arg("events_per_lumi") = 0);
  module.def("make_outputs", &make_outputs, py::arg("outputs"), py::arg("source"),
             py::arg("n_threads") = 1, py::arg("verify") = false, py::arg("on_open") = py::none(),
             py::call_guard<py::gil_scoped_release>(),
             "The same for LCIO files; `verify`: unpacks records that are copied.");
  module.def("join_lcio", &lcio::join_files, py::arg("inputs"), py::arg("output"),
             py::arg("verify"), py::arg("all_runs"), py::call_guard<py::gil_scoped_release>(),
             R"(Joins files in the given order; gives the digest of their events, a run as one lumi.
`verify`: unpacks all records; `all_runs`: also headers of runs that have no event. Raises
InputError, OutputError.)");
  module.def("carry_lcio", &lcio::carry_headers, py::arg("inputs"), py::arg("output"),
             py::arg("n_bytes"), py::call_guard<py::gil_scoped_release>(),
             R"(Adds the run headers of the inputs to a file that is closed, where it lacks them.
`n_bytes`: of the inputs when they were indexed; 0: not known. Raises InputError, OutputError.)");
  py::class_<lcio::RecordWriter>(module, "LcioWriter",
                                 "Writes records to a new file. Raises OutputError.")
      .def(py::init<const std::string&>(), py::arg("path"))
      .def(
          "add_run",
          [](lcio::RecordWriter& writer, std::int32_t run, const py::bytes& record) {
            writer.add_run(header_of(run, record));
          },
          py::arg("run"), py::arg("record"), "Header of a run, before its events.")
      .def(
          "add_event",
          [](lcio::RecordWriter& writer, std::int32_t run, std::int32_t event,
             const py::bytes& records) { writer.add_event(run, event, bytes_of(records)); },
          py::arg("run"), py::arg("event"), py::arg("records"), "Both records of an event.")
      .def("close", &lcio::RecordWriter::close, "Adds the records for random access.");
}

}  // namespace forkrun::bindings
