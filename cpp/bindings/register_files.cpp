#include <algorithm>
#include <iterator>
#include <tuple>

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <forkrun/bytes/remote/remote_protocols.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/root_histograms/histogram_file.hpp>
#include <forkrun/formats/root_histograms/histogram_reader.hpp>
#include <forkrun/formats/ttree/merge/carry_objects.hpp>
#include <forkrun/formats/ttree/merge/file_merger.hpp>
#include <forkrun/formats/ttree/origins/origin_record.hpp>
#include <forkrun/formats/ttree/output/make_outputs.hpp>
#include <forkrun/formats/ttree/output/trial_copy.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/read_columns.hpp>
#include <forkrun/formats/ttree/read/tree_index.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

#include "bindings.hpp"
#include "column_arrays.hpp"
#include "descriptions.hpp"
#include "names.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Strings = std::vector<std::string>;
/// UUID, bytes, time of the last change.
using Identity = std::tuple<std::string, std::int64_t, std::int64_t>;

/// Names in damaged or old files may be no UTF-8: what is none becomes U+FFFD.
py::str text(const std::string& bytes) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<py::ssize_t>(bytes.size()), "replace"));
}

py::list texts(const Strings& all) {
  py::list list;
  for (const auto& bytes : all) {
    list.append(text(bytes));
  }
  return list;
}

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Appends the bytes of a number as they are in memory.
void append(std::string& bytes, const auto& number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// As columns of bytes, which neither JSON nor lists of Python have to be made of.
py::dict columns_of(const std::vector<root_io::LumiRange>& ranges) {
  std::string run;
  std::string lumi;
  std::string last;
  std::string digest;
  for (const auto& range : ranges) {
    append(run, range.lumi.run);
    append(lumi, range.lumi.lumi);
    append(last, range.last);
    append(digest, range.digest.words());
  }
  return py::dict(py::arg("run") = py::bytes{run}, py::arg("lumi") = py::bytes{lumi},
                  py::arg("last") = py::bytes{last}, py::arg("digest") = py::bytes{digest});
}

py::dict index_tree(const std::string& path, const std::string& tree, const std::string& run_branch,
                    const std::string& lumi_branch, const std::string& event_branch,
                    std::uint32_t file_number) {
  root_io::TreeIndex index;
  {
    const py::gil_scoped_release release;
    index = root_io::index_tree(path, tree, {run_branch, lumi_branch, event_branch}, file_number);
  }
  py::list branches;
  for (const auto& branch : index.branches) {
    branches.append(
        py::make_tuple(text(branch.name), text(branch.described_type()), text(branch.counter))
            .cast<py::list>());
  }
  py::list members;
  for (const auto& [top, _, layout] : index.members) {
    members.append(py::make_tuple(text(layout.name), text(layout.described_type()), text(top))
                       .cast<py::list>());
  }
  py::list forms;
  for (const auto& [name, form] : index.forms) {
    forms.append(py::make_tuple(text(name), form).cast<py::list>());
  }
  const auto& identity = index.identity;
  return py::dict(
      py::arg("format") = index.is_ntuple ? "rntuple" : "ttree", py::arg("uuid") = identity.uuid,
      py::arg("n_bytes") = identity.n_bytes, py::arg("modified_ns") = identity.modified_ns,
      py::arg("n_entries") = index.n_entries, py::arg("clusters") = index.clusters,
      py::arg("ranges") = columns_of(index.ranges),
      py::arg("events") = std::vector{index.events.least, index.events.most},
      py::arg("rises") = index.events.rises, py::arg("absent") = text(index.absent),
      py::arg("branches") = branches, py::arg("members") = members, py::arg("forms") = forms,
      py::arg("short_branches") = texts(index.short_branches),
      py::arg("stored_friends") = texts(index.stored_friends),
      py::arg("beside") =
          py::make_tuple(index.beside.forms, index.beside.contents, texts(index.beside.problems),
                         index.beside.may_refer, texts(index.beside.trees))
              .cast<py::list>());
}

/// Name, bytes, bytes in the file and compression of each branch.
py::list branch_accounts(const std::string& path, const std::string& tree) {
  py::list accounts;
  for (const auto& [name, sizes, compression] : root_io::branch_accounts(path, tree)) {
    accounts.append(py::make_tuple(text(name), sizes.n_bytes, sizes.n_stored_bytes, compression));
  }
  return accounts;
}

py::dict read_tree(root_io::OpenTree& tree, const Strings& names, std::int64_t first,
                   std::int64_t last) {
  std::vector<Column> columns;
  {
    const py::gil_scoped_release release;
    columns = tree.read(names, first, last);
  }
  py::dict arrays;
  for (std::size_t i = 0; i < names.size(); ++i) {
    arrays[py::str(names[i])] = arrays_of(columns[i]);
  }
  return arrays;
}

py::dict read_columns(const std::string& path, const std::string& tree, const Strings& names,
                      std::int64_t first, std::int64_t last) {
  root_io::OpenTree open{path, tree};
  return read_tree(open, names, first, last);
}

/// Number, bytes and seconds of this thread's reads and of what it unpacked.
py::dict costs_of_thread() {
  const auto& mine = InputCosts::of_this_thread().own;
  const auto seconds = [](std::int64_t ns) { return 1e-9 * static_cast<double>(ns); };
  py::dict costs;
  costs["read"] = py::make_tuple(mine.read_calls, mine.read_bytes, seconds(mine.read_ns));
  costs["unzip"] = py::make_tuple(mine.n_unpacked, mine.unpacked_bytes, seconds(mine.unpack_ns));
  return costs;
}

/// Pieces one after the other: entries as (file, first, last), and the new columns.
py::list read_fragment(const std::string& path) {
  FragmentReader fragment{path};
  py::list pieces;
  while (const auto piece = fragment.next()) {
    py::list entries;
    for (const auto& range : piece->entries) {
      entries.append(py::make_tuple(range.file, range.first, range.last));
    }
    py::dict columns;
    for (std::size_t i = 0; i < piece->columns.size(); ++i) {
      columns[py::str(fragment.columns()[i].name)] = arrays_of(piece->columns[i]);
    }
    pieces.append(py::make_tuple(entries, columns));
  }
  return pieces;
}

/// Names, and whether they are folders. \throws InputError
std::vector<std::tuple<std::string, bool, std::int64_t, std::int64_t>> listed_remote(
    const std::string& url) {
  const auto listing = [&] {
    const py::gil_scoped_release release;
    return list_remote(url);
  }();
  if (listing.problem) {
    throw InputError(url + ": cannot be listed: " + listing.problem.text);
  }
  std::vector<std::tuple<std::string, bool, std::int64_t, std::int64_t>> found;
  for (const auto& each : listing.entries) {
    found.emplace_back(each.name, each.is_folder, each.n_bytes, each.modified_ns);
  }
  return found;
}

/// Bytes and time of the last change; -1 bytes: not known.
std::vector<std::pair<std::int64_t, std::int64_t>> stated_remote(const Strings& urls) {
  const auto entries = [&] {
    const py::gil_scoped_release release;
    return stat_remote(urls);
  }();
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const auto& each : entries) {
    found.emplace_back(each.n_bytes, each.modified_ns);
  }
  return found;
}

py::object read_origins(const std::string& path) {
  std::optional<root_io::OriginsByPath> origins;
  {
    const py::gil_scoped_release release;
    origins = root_io::naming_file(path, [&] {
      root_io::TreeFile file{path};
      return root_io::read_origins(file);
    });
  }
  if (!origins) {
    return py::none();
  }
  py::dict by_tree;
  for (const auto& [tree, parts] : *origins) {
    py::list rows;
    for (const auto& [origin, n_rows] : parts) {
      rows.append(py::make_tuple(origin.uuid_high, origin.uuid_low, origin.n_bytes, n_rows));
    }
    by_tree[text(tree)] = rows;
  }
  return by_tree;
}

root_io::IfTheyDiffer if_they_differ(bool keep_first) {
  return keep_first ? root_io::IfTheyDiffer::keep_first : root_io::IfTheyDiffer::error;
}

root_io::Recluster recluster_of(const std::string& text) {
  return named<root_io::Recluster>({"auto", "always", "never"}, "recluster", text);
}

OutputFormat format_of(const std::string& text) {
  return named<OutputFormat>({"ttree", "rntuple"}, "format", text);
}

py::dict merge_trees(const Strings& inputs, const std::string& output,
                     const std::optional<Strings>& trees,
                     const std::optional<std::string>& compression,
                     const std::function<void(std::size_t)>& progress, bool keep_first, bool verify,
                     const std::function<void(std::string)>& note, const std::string& recluster,
                     const std::function<void()>& on_written,
                     const std::optional<std::string>& format, bool needs_checksums) {
  using root_io::BasketCheck;
  root_io::MergeRequest request{inputs, output, trees, {}, progress};
  request.if_they_differ = if_they_differ(keep_first);
  request.check = verify ? BasketCheck::Depth::contents : BasketCheck::Depth::headers;
  request.note = note;
  request.recluster = recluster_of(recluster);
  request.on_written = on_written;
  request.needs_checksums = needs_checksums;
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

OutputContent make_content(const Strings& branches, const NamesAndTypes& products,
                           const std::string& compression, bool recompresses, bool goes_with_events,
                           const std::string& tree) {
  return {branches,     descriptions_of(products), Compression::parse(compression),
          recompresses, goes_with_events,          tree};
}

/// Path, and (file, first, last) of the entries whose events the file has.
using FileToMake =
    std::pair<std::string, std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>>>;

root_io::OutputToMake make_output(const std::vector<std::pair<std::size_t, Strings>>& fragments,
                                  const std::vector<FileToMake>& files,
                                  const OutputContent& content, std::int64_t n_events,
                                  const std::function<void(std::size_t)>& before_group,
                                  const std::function<void(std::int64_t)>& progress,
                                  const std::function<void(std::string)>& on_written) {
  root_io::OutputToMake output;
  for (const auto& [number, paths] : fragments) {
    output.fragments.push_back({number, paths});
  }
  for (const auto& [path, ranges] : files) {
    auto& file = output.files.emplace_back(root_io::FileToMake{path, {}});
    for (const auto& [number, first, last] : ranges) {
      file.entries.push_back({number, first, last});
    }
  }
  output.content = content;
  output.n_events = n_events;
  output.before_group = before_group;
  output.progress = progress;
  output.on_written = on_written;
  return output;
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

std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> cluster_begins(
    const root_io::OutputToMake& output, const root_io::TreeSource& source,
    const std::string& format) {
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> begins;
  for (const auto& begin : root_io::cluster_begins(output, format_of(format), source.config())) {
    begins.emplace_back(begin.file, begin.entry, begin.n_events);
  }
  return begins;
}

root_io::BranchesThatDiffer branches_that_differ(bool common_branches) {
  return common_branches ? root_io::BranchesThatDiffer::leave_out
                         : root_io::BranchesThatDiffer::error;
}

void check_carried(const Strings& inputs, const std::string& scratch, const Strings& exclude,
                   bool keep_first, bool common_branches) {
  root_io::check_carried(inputs, scratch, {exclude.begin(), exclude.end()},
                         if_they_differ(keep_first), branches_that_differ(common_branches));
}

py::list carry_objects(const Strings& inputs, const std::string& output,
                       const py::iterable& exclude, bool keep_first,
                       const std::vector<Identity>& identities, bool common_branches) {
  std::set<std::string> names;
  for (const auto name : exclude) {
    names.insert(name.cast<std::string>());
  }
  std::vector<root_io::FileIdentity> indexed;
  for (const auto& [uuid, n_bytes, modified_ns] : identities) {
    indexed.push_back({uuid, n_bytes, modified_ns});
  }
  Strings carried;
  {
    const py::gil_scoped_release release;
    carried = root_io::carry_objects(inputs, output, names, if_they_differ(keep_first),
                                     branches_that_differ(common_branches), indexed);
  }
  return texts(carried);
}

EventDigest tree_digest(const std::string& path, const std::string& tree,
                        const std::string& run_branch, const std::string& lumi_branch,
                        const std::string& event_branch) {
  return root_io::tree_digest(path, tree, {run_branch, lumi_branch, event_branch});
}

/// Title, edges, whether bins are equal, labels.
using AxisContent = std::tuple<std::string, std::vector<double>, bool, Strings>;
/// Name, title, axes, storage, sums, whether it is sparse.
using HistogramContent =
    std::tuple<std::string, std::string, std::vector<AxisContent>, std::string, Doubles, bool>;

root_io::HistogramContent content_of(const HistogramContent& given) {
  const auto& [name, title, axes, storage, sums, is_sparse] = given;
  root_io::HistogramContent content{name, title, {}, {}, {}, is_sparse};
  for (const auto& [axis_title, edges, has_equal_bins, labels] : axes) {
    content.axes.push_back({axis_title, edges, has_equal_bins, labels});
  }
  content.storage = named<root_io::HistogramStorage>(
      {"counts", "weights", "means", "weighted means"}, "storage", storage);
  content.sums = {sums.data(), static_cast<std::size_t>(sums.size())};
  return content;
}

void write_histograms(const std::string& path, const std::vector<HistogramContent>& histograms) {
  std::vector<root_io::HistogramContent> contents;
  std::ranges::transform(histograms, std::back_inserter(contents), content_of);
  root_io::write_histograms(path, contents);
}

py::array_t<double> array_of(const std::vector<double>& values, std::vector<py::ssize_t> shape) {
  return py::array_t<double>(std::move(shape), values.data());
}

py::dict read_histogram(const std::string& path, const std::string& name) {
  const auto stored = root_io::read_histogram(path, name);
  std::vector<py::ssize_t> shape;
  py::list edges;
  for (const auto& axis : stored.edges) {
    shape.push_back(static_cast<py::ssize_t>(axis.size()) + 1);
    edges.append(array_of(axis, {static_cast<py::ssize_t>(axis.size())}));
  }
  return py::dict(py::arg("title") = stored.title, py::arg("edges") = edges,
                  py::arg("values") = array_of(stored.values, shape),
                  py::arg("variances") = array_of(stored.variances, shape),
                  py::arg("axis_titles") = stored.axis_titles);
}

}  // namespace

void register_files(py::module_& module) {
  module.def("is_plain_tree", &root_io::is_plain_tree, py::arg("path"), py::arg("tree"),
             py::call_guard<py::gil_scoped_release>());
  module.def("has_plain_trees_alone", &root_io::has_plain_trees_alone, py::arg("path"),
             py::call_guard<py::gil_scoped_release>());
  module.def("index_tree", &index_tree, py::arg("path"), py::arg("tree"), py::arg("run_branch"),
             py::arg("lumi_branch"), py::arg("event_branch"), py::arg("file_number") = 0);
  module.def("branch_accounts", &branch_accounts, py::arg("path"), py::arg("tree"));
  py::class_<root_io::OpenTree>(module, "OpenTree")
      .def(py::init<const std::string&, const std::string&>(), py::arg("path"), py::arg("tree"))
      .def("read", &read_tree, py::arg("names"), py::arg("first") = 0, py::arg("last") = -1);
  module.def("read_columns", &read_columns, py::arg("path"), py::arg("tree"), py::arg("names"),
             py::arg("first") = 0, py::arg("last") = -1);
  module.def("byte_costs", &costs_of_thread);
  module.def("list_remote", &listed_remote, py::arg("url"));
  module.def("stat_remote", &stated_remote, py::arg("urls"));
  module.def("read_origins", &read_origins, py::arg("path"));
  module.def("merge_trees", &merge_trees, py::arg("inputs"), py::arg("output"),
             py::arg("trees") = py::none(), py::arg("compression") = py::none(),
             py::arg("progress") = py::none(), py::arg("keep_first") = false,
             py::arg("verify") = false, py::arg("note") = py::none(), py::arg("recluster") = "auto",
             py::arg("on_written") = py::none(), py::arg("format") = py::none(),
             py::arg("needs_checksums") = true);
  py::class_<OutputContent>(module, "OutputContent")
      .def(py::init(&make_content), py::arg("branches"), py::arg("products"),
           py::arg("compression"), py::arg("recompresses") = false,
           py::arg("goes_with_events") = false, py::arg("tree") = "Events");
  py::class_<root_io::OutputToMake>(module, "OutputToMake")
      .def(py::init(&make_output), py::arg("fragments"), py::arg("files"), py::arg("content"),
           py::arg("n_events"), py::arg("before_group") = py::none(),
           py::arg("progress") = py::none(), py::arg("on_written") = py::none());
  module.def("make_outputs", &make_outputs, py::arg("outputs"), py::arg("source"),
             py::arg("n_threads") = 1, py::arg("verify") = false, py::arg("on_open") = py::none(),
             py::arg("format") = "ttree", py::call_guard<py::gil_scoped_release>());
  module.def(
      "first_file",
      [](const std::vector<std::vector<std::int64_t>>& clusters) { return first_file(clusters); },
      py::arg("clusters"));
  module.def("cluster_begins", &cluster_begins, py::arg("output"), py::arg("source"),
             py::arg("format") = "ttree", py::call_guard<py::gil_scoped_release>());
  module.def("read_fragment", &read_fragment, py::arg("path"));
  module.def("events_of_fragment", &root_io::events_of_fragment, py::arg("path"),
             py::call_guard<py::gil_scoped_release>());
  module.def("add_text", &root_io::add_text, py::arg("output"), py::arg("name"), py::arg("text"),
             py::call_guard<py::gil_scoped_release>());
  module.def("carry_objects", &carry_objects, py::arg("inputs"), py::arg("output"),
             py::arg("exclude"), py::arg("keep_first") = false,
             py::arg("identities") = std::vector<Identity>{}, py::arg("common_branches") = false);
  module.def("check_carried", &check_carried, py::arg("inputs"), py::arg("scratch"),
             py::arg("exclude"), py::arg("keep_first"), py::arg("common_branches"),
             py::call_guard<py::gil_scoped_release>());
  module.def("branches_written_anew", &root_io::branches_written_anew, py::arg("path"),
             py::arg("tree"), py::call_guard<py::gil_scoped_release>());
  module.def("try_copy", &root_io::try_copy, py::arg("path"), py::arg("tree"), py::arg("branches"),
             py::arg("scratch"), py::call_guard<py::gil_scoped_release>());
  module.def("tree_digest", &tree_digest, py::arg("path"), py::arg("tree"), py::arg("run_branch"),
             py::arg("lumi_branch"), py::arg("event_branch"),
             py::call_guard<py::gil_scoped_release>());
  module.def("read_histogram", &read_histogram, py::arg("path"), py::arg("name"));
  module.def("leave_hole_in_new_files",
             [](std::int64_t n_bytes) { root_io::hole_in_new_files() = n_bytes; });
  module.def("write_histograms", &write_histograms, py::arg("path"), py::arg("histograms"));
}

}  // namespace forkrun::bindings
