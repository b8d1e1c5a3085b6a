#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <variant>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/formats/lcio/changed_event.hpp>
#include <forkrun/formats/lcio/event_source.hpp>
#include <forkrun/formats/lcio/file_index.hpp>

#include "../bindings.hpp"
#include "../column_arrays.hpp"
#include "../descriptions.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Names = std::vector<std::string>;
using Identity = std::tuple<std::string, std::int64_t, std::int64_t>;  // UUID, bytes, modified_ns

/// A file that stays open, and its columns, which are found when they are asked for first.
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

void check(const OpenLcio& open, const std::vector<std::size_t>& entries, std::size_t n_threads) {
  const auto& file = open.file();
  in_parallel(entries.size(), n_threads, [&](std::size_t i) { file.check_event(entries[i]); });
}

/// Columns, clusters, ids and places of events and of run headers, and what tells the file from
/// others.
py::typing::Dict<py::str, py::object> index_of(const OpenLcio& open,
                                               std::uint32_t events_per_lumi) {
  lcio::FileIndex index;
  {
    const py::gil_scoped_release release;
    index = lcio::index_file(open.file(), events_per_lumi);
  }
  py::dict found;
  found["branches"] = names_and_types_of(index.columns);
  found["clusters"] = index.clusters;
  found["identity"] = index.identity;
  found["status"] = py::make_tuple(open.file().n_bytes(), open.file().modified_ns());
  found["runs"] = runs_of(open);
  const auto& events = open.file().events();
  py::array_t<std::int64_t> places{{static_cast<py::ssize_t>(events.size()), py::ssize_t{2}}};
  for (std::size_t i = 0; i < events.size(); ++i) {
    places.mutable_at(static_cast<py::ssize_t>(i), 0) = events[i].place;
    places.mutable_at(static_cast<py::ssize_t>(i), 1) = events[i].end;
  }
  found["places"] = places;
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

/// The bytes of the file from `place` to `end`.
py::bytes stored(const OpenLcio& open, std::int64_t place, std::int64_t end) {
  auto bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromStringAndSize(nullptr, end - place));
  if (!bytes) {
    throw py::error_already_set{};
  }
  const std::span into{reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr())),
                       static_cast<std::size_t>(end - place)};
  const py::gil_scoped_release release;
  ReadAccount account;
  open.file().read(place, into, account);
  return bytes;
}

using NewCollections = std::vector<std::pair<std::string, std::string>>;  // names, types
/// Name, type, and big-endian numbers or texts.
using NewParameters =
    std::vector<std::tuple<std::string, std::string, std::variant<py::bytes, Names>>>;

lcio::Parameters parameters_of(const NewParameters& from) {
  lcio::Parameters all;
  for (const auto& [name, type, values] : from) {
    lcio::Parameter each{name, ColumnType::parse(type).element, {}, {}};
    if (const auto* texts = std::get_if<Names>(&values)) {
      each.texts.assign(texts->begin(), texts->end());
    } else {
      each.numbers = std::as_bytes(std::span{std::string_view{std::get<py::bytes>(values)}});
    }
    all.push_back(std::move(each));
  }
  return all;
}

py::bytes as_bytes(const std::vector<std::byte>& from) {
  return {reinterpret_cast<const char*>(from.data()), from.size()};
}

py::typing::Tuple<py::bytes, py::bytes> changed(const OpenLcio& open, std::size_t entry,
                                                const Names& collections, const Names& parameters,
                                                const NewCollections& new_collections,
                                                const py::bytes& blocks,
                                                const NewParameters& new_parameters) {
  const lcio::Dropped dropped{{collections.begin(), collections.end()},
                              {parameters.begin(), parameters.end()}};
  lcio::Added added{{}, std::as_bytes(std::span{std::string_view{blocks}}), {}};
  for (const auto& [name, type] : new_collections) {
    added.collections.push_back({name, type, false});
  }
  added.parameters = parameters_of(new_parameters);
  lcio::EventData data;
  {
    const py::gil_scoped_release release;
    data = lcio::changed_event(open.file(), entry, dropped, added);
  }
  return py::make_tuple(as_bytes(data.header), as_bytes(data.body));
}

std::unique_ptr<lcio::EventSource> make_lcio_source(const Names& files,
                                                    const NamesAndTypes& columns,
                                                    std::vector<std::vector<std::int64_t>> clusters,
                                                    const std::vector<Identity>& identities,
                                                    std::uint32_t events_per_lumi, Names expected) {
  lcio::EventSourceConfig config;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [uuid, n_bytes, modified_ns] = i < identities.size() ? identities[i] : Identity{};
    config.files.push_back({files[i], n_bytes, modified_ns});
  }
  config.events_per_lumi = events_per_lumi;
  config.columns = descriptions_of(columns);
  config.clusters = std::move(clusters);
  config.expected = std::move(expected);
  return std::make_unique<lcio::EventSource>(std::move(config));
}

}  // namespace

void register_lcio(py::module_& module) {
  py::class_<OpenLcio>(module, "OpenLcio", "A file of LCIO that stays open. Raises InputError.")
      .def(py::init<const std::string&>(), py::arg("path"))
      .def("stored", &stored, py::arg("place"), py::arg("end"),
           "The bytes of the file from `place` to `end`. Raises InputError if it ends before.")
      .def(
          "changed", &changed, py::arg("entry"), py::arg("dropped_collections"),
          py::arg("dropped_parameters"), py::arg("new_collections"), py::arg("new_blocks"),
          py::arg("new_parameters"),
          R"(Data of an event's two records, not compressed, without what is dropped and with what is
new: names and types of collections, their blocks; names, types and values of parameters,
as big-endian numbers or as texts. Pointers to dropped objects become null.)")
      .def_property_readonly("n_bytes", [](const OpenLcio& open) { return open.file().n_bytes(); })
      .def("runs", &runs_of, "Number, first byte and end of each run header.")
      .def("check", &check, py::arg("entries"), py::arg("n_threads") = 1,
           py::call_guard<py::gil_scoped_release>(),
           R"(Unpacks the records of these events, and goes through their blocks. Raises InputError
if one is damaged.)")
      .def("index", &index_of, py::arg("events_per_lumi") = 0,
           R"(`branches`: name and type of each column; `clusters`: first event of each, then the
number of events; `identity`: two numbers of 64 bits that tell the file from others;
`status`: bytes of the file, and when it was written [ns], 0: not known; `run`,
`lumi`, `event`: (n,) uint64; `places`: (n, 2) first byte of each event, and the one behind
its last; `runs`: number of each run header, with the same. `events_per_lumi`: 0: each run
is one lumi.)")
      .def("read", &read, py::arg("names"), py::arg("first") = 0, py::arg("last") = -1,
           "As `read_columns`.");
  py::class_<lcio::EventSource, Source>(module, "LcioSource")
      .def(py::init(&make_lcio_source), py::arg("files"), py::arg("columns"), py::arg("clusters"),
           py::arg("identities") = std::vector<Identity>{}, py::arg("events_per_lumi") = 0,
           py::arg("expected") = Names{}, "As TreeSource.");
}

}  // namespace forkrun::bindings
