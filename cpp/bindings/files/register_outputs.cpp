#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <forkrun/formats/merge/add_text.hpp>
#include <forkrun/formats/merge/file_merger.hpp>
#include <forkrun/formats/output/make_outputs.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/output/output_target.hpp>
#include <forkrun/formats/ttree/output/tree_writer.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

#include "../bindings.hpp"
#include "../column_arrays.hpp"
#include "../names.hpp"
#include "../records.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Strings = std::vector<std::string>;
using WrittenField = std::tuple<std::string, std::string, std::string>;
using FieldsByTable = std::map<std::string, std::pair<Strings, std::vector<WrittenField>>>;

root_io::IfTheyDiffer if_they_differ(bool keep_first) {
  return keep_first ? root_io::IfTheyDiffer::keep_first : root_io::IfTheyDiffer::error;
}

root_io::Recluster recluster_of(const std::string& text) {
  return named<root_io::Recluster>({"auto", "always", "never"}, "recluster", text);
}

OutputFormat format_of(const std::string& text) {
  return named<OutputFormat>({"ttree", "rntuple"}, "format", text);
}

std::map<std::string, root_io::AlignedFields> aligned(const FieldsByTable& fields) {
  std::map<std::string, root_io::AlignedFields> by_table;
  for (const auto& [table, of_table] : fields) {
    auto& [kept, written] = by_table[table];
    kept = of_table.first;
    for (const auto& [name, type, counter] : of_table.second) {
      written.push_back({name, ColumnType::parse(type), counter});
    }
  }
  return by_table;
}

py::typing::Dict<py::str, std::int64_t> merge_trees(
    const Strings& inputs, const std::string& output, const std::optional<Strings>& trees,
    const std::optional<std::string>& compression, const std::function<void(std::size_t)>& progress,
    bool keep_first, bool verify, const std::function<void(std::string)>& note,
    const std::string& recluster, const std::function<void()>& on_written,
    const std::optional<std::string>& format, bool needs_checksums, const FieldsByTable& fields) {
  using root_io::BasketCheck;
  root_io::MergeRequest request{inputs, output, trees, {}, progress};
  request.if_they_differ = if_they_differ(keep_first);
  request.check = verify ? BasketCheck::Depth::contents : BasketCheck::Depth::headers;
  request.note = note;
  request.recluster = recluster_of(recluster);
  request.on_written = on_written;
  request.needs_checksums = needs_checksums;
  request.fields = aligned(fields);
  if (format) {
    request.format = format_of(*format);
  }
  if (compression) {
    request.compression = Compression::parse(*compression);
  }
  std::map<std::string, std::int64_t> entries;
  {
    const py::gil_scoped_release release;
    entries = root_io::merge_files(request);
  }
  py::dict by_tree;
  for (const auto& [tree, n_entries] : entries) {
    by_tree[text(tree)] = n_entries;
  }
  return by_tree;
}

std::vector<std::vector<std::int64_t>> make_outputs(
    const std::vector<root_io::OutputToMake>& outputs, const root_io::TreeSource& source,
    std::size_t n_threads, bool verify, const std::function<void(std::size_t)>& on_open,
    const std::string& format) {
  using root_io::BasketCheck;
  return root_io::make_outputs({outputs, format_of(format), source.config(), n_threads,
                                verify ? BasketCheck::Depth::contents : BasketCheck::Depth::headers,
                                on_open});
}

std::vector<root_io::ClusterBegin> cluster_begins(const root_io::OutputToMake& output,
                                                  const root_io::TreeSource& source,
                                                  const std::string& format) {
  return root_io::cluster_begins(output, format_of(format), source.config());
}

void carry_objects(const Strings& inputs, const std::string& output, const Strings& exclude,
                   bool keep_first, const std::vector<root_io::FileIdentity>& identities,
                   const FieldsByTable& fields, bool is_new) {
  root_io::MergeRequest request{inputs, output, {}, {}, {}};
  request.if_they_differ = if_they_differ(keep_first);
  request.format = OutputFormat::tree;
  request.fields = aligned(fields);
  request.exclude = {exclude.begin(), exclude.end()};
  request.adds = !is_new;
  request.records_origins = true;
  request.identities = identities;
  root_io::merge_files(request);
}

using root_io::TreeWriter;

std::unique_ptr<TreeWriter> make_writer(const std::string& path, const std::string& tree,
                                        const std::vector<ColumnDescription>& columns,
                                        const Compression& compression, const std::string& title,
                                        bool append_tree,
                                        const std::map<std::string, std::string>& counters) {
  std::vector<root_io::NewBranch> branches;
  for (const auto& [name, type] : columns) {
    const auto counter = counters.find(name);
    branches.push_back(
        {name, type, counter == counters.end() ? std::nullopt : std::optional{counter->second}});
  }
  return std::make_unique<TreeWriter>(
      path, tree, std::move(branches), compression, title,
      append_tree ? root_io::OutputMode::update : root_io::OutputMode::create);
}

void write(TreeWriter& writer, const py::dict& arrays) {
  std::vector<Column> cluster;
  for (const auto& [name, type] : writer.columns()) {
    if (!arrays.contains(name)) {
      throw OutputError("unknown column \"" + name + "\" to write");
    }
    fill_column(cluster.emplace_back(type), arrays[py::str(name)], -1, "column \"" + name + "\"");
  }
  const py::gil_scoped_release release;
  writer.write(cluster);
}

}  // namespace

void register_outputs(py::module_& module) {
  py::class_<TreeWriter>(
      module, "TreeWriter",
      "Writes columns to a new tree of a new file (the sample generator, tests).")
      .def(py::init(&make_writer), py::arg("path"), py::arg("tree"), py::arg("columns"),
           py::arg("compression"), py::arg("title") = "", py::arg("append_tree") = false,
           py::arg("counters") = std::map<std::string, std::string>{},
           R"(A jagged column "Muon_pt" gets the counter branch "nMuon" (the prefix before the first
"_"), shared by all columns of that prefix. append_tree: adds a tree to an existing file.
`counters`: by column, its counter if it is another one; "": one of its own.)")
      .def("write", &write, py::arg("columns"),
           "One cluster. Values, or (offsets, values) for jagged columns; counters are computed.")
      .def("close", &TreeWriter::close, py::call_guard<py::gil_scoped_release>());
  module.def(
      "merge_trees", &merge_trees, py::arg("inputs"), py::arg("output"),
      py::arg("trees") = py::none(), py::arg("compression") = py::none(),
      py::arg("progress") = py::none(), py::arg("keep_first") = false, py::arg("verify") = false,
      py::arg("note") = py::none(), py::arg("recluster") = "auto",
      py::arg("on_written") = py::none(), py::arg("format") = py::none(),
      py::arg("needs_checksums") = true, py::arg("fields") = FieldsByTable{},
      R"(Joins trees and RNTuples (all when None; as `format`: "ttree" or "rntuple", None: each as in
the first file with it) of `inputs` in the given order into the new file `output` by
copying baskets, or by rewriting their entries in larger ones: `recluster`: "auto" (of files
where they are small, or with `compression`), "always" or "never". Merges objects as ROOT does,
and keeps one of the objects that it cannot merge: all must be equal, unless `keep_first`. Sizes,
places and headers of baskets are checked, with `verify` their contents as well. Returns entries
by tree. `progress` gets the number of inputs done, `note` a line about the baskets of each
tree, and about each object that was not merged. `fields`: by table whose files differ, the
names that all have alike, and name, type and counter of those that are written by their values,
counters first: 0, false or empty where a file lacks them. Samples of the complete file are compared with
the inputs, after `on_written`. Raises InputError, OutputError, VerificationError.)");
  bind_record(
      module, "OutputContent", "Content of an output's tree.",
      Field{"branches", &OutputContent::branches, "of the input"},
      Field{"members", &OutputContent::members,
            "Columns within these branches, for formats without objects."},
      Field{"products", &OutputContent::products, "Name and type of new columns."},
      Required{"compression", &OutputContent::compression,
               R"("zstd:5", "lz4:4", "zlib:1", "lzma:6", "none" or "auto", of new baskets.)"},
      Field{"recompresses", &OutputContent::recompresses, "baskets that are kept whole as well"},
      Field{"goes_with_events", &OutputContent::goes_with_events,
            "The tree is added to the file of the events, without new columns."},
      Required{"tree", &OutputContent::tree, "Its path in outputs."},
      Field{"has_flat_names", &OutputContent::has_flat_names,
            R"(RNTuples have "Jet_pt" and "nJet" as well, of a list "Jet" with "pt".)"});
  using root_io::OutputToMake;
  bind_record(
      module, "OutputToMake", "Output to make from the children's selection.",
      Field{
          "fragments", &OutputToMake::fragments,
          R"(Groups in the order of the output, each with its number in the order of the input (for
all outputs of a job alike) and the files of fragments whose events alternate; new columns are in
them.)"},
      Field{
          "files", &OutputToMake::files,
          R"(Path of each, and (file, first, last) of the entries whose events it has, in the order of
the events; no entries: it has all.)"},
      Required{"content", &OutputToMake::content, ""},
      Field{"n_events", &OutputToMake::n_events, "in all fragments"},
      Field{"before_group", &OutputToMake::before_group,
            "Gets the number, in `fragments`, of the group that is read next."},
      Field{"progress", &OutputToMake::progress, "Gets the number of events written so far."},
      Field{"on_written", &OutputToMake::on_written,
            "Gets the path of each complete file, before samples are compared with the input."});
  module.def("make_outputs", &make_outputs, py::arg("outputs"), py::arg("source"),
             py::arg("n_threads") = 1, py::arg("verify") = false, py::arg("on_open") = py::none(),
             py::arg("format") = "ttree", py::call_guard<py::gil_scoped_release>(),
             R"(Makes the files of all outputs; input that several of them need is read once.
`format`: of the outputs, "ttree" or "rntuple", where the source may have either; `verify`:
unzip baskets that are copied as they are, and check their contents. `on_open` gets the number
of each input file just before it is opened. Returns the number of events in each file, by
output; if it raises, there are no files. Raises InputError, OutputError,
VerificationError.)");
  module.def(
      "first_file",
      [](const std::vector<std::vector<std::int64_t>>& clusters) { return first_file(clusters); },
      py::arg("clusters"),
      R"(Number of the file whose tree gives outputs their structure: the first with more than one
entry in `clusters`, else with one, else 0.)");
  module.def(
      "cluster_begins", &cluster_begins, py::arg("output"), py::arg("source"),
      py::arg("format") = "ttree", py::call_guard<py::gil_scoped_release>(),
      R"(Where `make_outputs` begins the clusters of an output: file and entry of the input, and the
number of events. It reads no event, so where a cluster's events are much larger than the mean
of their file it really ends sooner. The path of the output's first file is used meanwhile.
Raises InputError, OutputError.)");
  module.def(
      "add_text", &root_io::add_text, py::arg("output"), py::arg("name"), py::arg("text"),
      py::call_guard<py::gil_scoped_release>(),
      "Adds a text, a TObjString of this name, to a file that was just made. Raises OutputError.");
  module.def(
      "carry_objects", &carry_objects, py::arg("inputs"), py::arg("output"), py::arg("exclude"),
      py::arg("keep_first") = false, py::arg("identities") = std::vector<root_io::FileIdentity>{},
      py::arg("fields") = FieldsByTable{}, py::arg("is_new") = false,
      py::call_guard<py::gil_scoped_release>(),
      R"(Adds to the existing file `output`, or to a new one if it `is_new`, everything of `inputs` but
the objects named in `exclude`, joined as in `merge_trees`, RNTuples as trees. `identities`: of
the inputs as they were indexed; `fields`: as in `merge_trees`. Raises InputError, OutputError.)");
  module.def(
      "rewritten_branches", &root_io::rewritten_branches, py::arg("path"), py::arg("tree"),
      py::arg("has_references") = false, py::call_guard<py::gil_scoped_release>(),
      R"(Branches of objects whose entries an output cannot copy as bytes: ROOT reads them and writes
them again. `has_references`: objects of other files refer to others. Raises InputError.)");
  module.def(
      "try_copy", &root_io::try_copy, py::arg("path"), py::arg("tree"), py::arg("branches"),
      py::arg("scratch"), py::call_guard<py::gil_scoped_release>(),
      R"(Copies the first entries of branches whose objects ROOT has to rewrite, to see whether it
can: without the dictionary of a class it may crash. `scratch`: path of a file that is
written, and removed. Raises InputError, OutputError.)");
  module.def(
      "leave_hole_in_new_files",
      [](std::int64_t n_bytes) { root_io::hole_in_new_files() = n_bytes; },
      R"(For tests: every ROOT file that this process or its children begin from now on has so many
bytes that it does not use, nor take from the disk, before its first record.)");
}

}  // namespace forkrun::bindings
