#include <optional>
#include <tuple>

#include <pybind11/stl.h>

#include <forkrun/bytes/remote/remote_cache.hpp>
#include <forkrun/bytes/remote/remote_protocols.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>
#include <forkrun/formats/index/ntuple_branches.hpp>
#include <forkrun/formats/index/tree_index.hpp>
#include <forkrun/formats/merge/origins.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/fragments/fragment.hpp>

#include "../bindings.hpp"
#include "../column_arrays.hpp"
#include "../names.hpp"
#include "../records.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Strings = std::vector<std::string>;

/// Appends the bytes of a number as they are in memory.
void append(std::string& bytes, const auto& number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Ranges as columns of bytes: no JSON, no lists of Python objects.
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

py::typing::Dict<py::str, py::object> index_tree(const std::string& path, const std::string& tree,
                                                 const std::string& run_branch,
                                                 const std::string& lumi_branch,
                                                 const std::string& event_branch,
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
  return py::dict(py::arg("format") = index.is_ntuple ? "rntuple" : "ttree",
                  py::arg("uuid") = identity.uuid, py::arg("n_bytes") = identity.n_bytes,
                  py::arg("modified_ns") = identity.modified_ns,
                  py::arg("n_entries") = index.n_entries, py::arg("clusters") = index.clusters,
                  py::arg("ranges") = columns_of(index.ranges),
                  py::arg("events") = std::vector{index.events.least, index.events.most},
                  py::arg("rises") = index.events.rises, py::arg("absent") = text(index.absent),
                  py::arg("branches") = branches, py::arg("members") = members,
                  py::arg("forms") = forms, py::arg("short_branches") = texts(index.short_branches),
                  py::arg("stored_friends") = texts(index.stored_friends),
                  py::arg("other_objects") =
                      py::make_tuple(index.other.forms, index.other.contents,
                                     texts(index.other.problems), index.other.may_refer,
                                     texts(index.other.trees), index.other.has_references)
                          .cast<py::list>());
}

/// Path, format and number of entries of each table of a file, in order.
py::typing::List<py::typing::Tuple<py::str, py::str, std::int64_t>> stored_tables(
    const std::string& path) {
  root_io::TreeFile file{path};
  py::list tables;
  for (const auto& [name, is_ntuple] :
       root_io::naming_file(path, [&] { return root_io::stored_tables(file); })) {
    const auto n_entries = root_io::event_table(file, name)->n_entries();
    tables.append(py::make_tuple(text(name), is_ntuple ? "rntuple" : "ttree", n_entries));
  }
  return tables;
}

/// Name, bytes, bytes in the file and compression of each branch.
py::typing::List<py::typing::Tuple<py::str, std::int64_t, std::int64_t, int>> branch_accounts(
    const std::string& path, const std::string& tree) {
  py::list accounts;
  for (const auto& [name, sizes, compression] : root_io::branch_accounts(path, tree)) {
    accounts.append(py::make_tuple(text(name), sizes.n_bytes, sizes.n_stored_bytes, compression));
  }
  return accounts;
}

py::typing::Dict<py::str, py::object> read_tree(root_io::OpenTree& tree, const Strings& names,
                                                std::int64_t first, std::int64_t last) {
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

py::typing::Dict<py::str, py::object> read_columns(const std::string& path, const std::string& tree,
                                                   const Strings& names, std::int64_t first,
                                                   std::int64_t last) {
  root_io::OpenTree open{path, tree};
  return read_tree(open, names, first, last);
}

/// Number, bytes and seconds of this thread's reads, and of its unpacking.
py::typing::Dict<py::str, py::typing::Tuple<std::int64_t, std::int64_t, double>> costs_of_thread() {
  const auto& mine = InputCosts::of_this_thread().own;
  const auto seconds = [](std::int64_t ns) { return 1e-9 * static_cast<double>(ns); };
  py::dict costs;
  costs["read"] = py::make_tuple(mine.read_calls, mine.read_bytes, seconds(mine.read_ns));
  costs["unzip"] = py::make_tuple(mine.n_unpacked, mine.unpacked_bytes, seconds(mine.unpack_ns));
  return costs;
}

/// Pieces one after another: entries as (file, first, last), and the new columns.
py::typing::List<
    py::typing::Tuple<py::typing::List<py::typing::Tuple<int, std::int64_t, std::int64_t>>,
                      py::typing::Dict<py::str, py::object>>>
read_fragment(const std::string& path) {
  FragmentReader fragment{path};
  py::list pieces;
  while (const auto piece = fragment.next()) {
    py::dict columns;
    for (std::size_t i = 0; i < piece->columns.size(); ++i) {
      columns[py::str(fragment.columns()[i].name)] = arrays_of(piece->columns[i]);
    }
    pieces.append(py::make_tuple(piece->entries, columns));
  }
  return pieces;
}

/// \throws InputError
std::vector<RemoteEntry> listed_remote(const std::string& url) {
  auto listing = list_remote(url);
  if (listing.problem) {
    throw InputError(url + ": cannot be listed: " + listing.problem.text);
  }
  return std::move(listing.entries);
}

/// Path, name, bytes of the file and on the disk, and last use.
std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>>
cached_files(const std::string& folder) {
  std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>> found;
  for (const auto& each : RemoteCache::entries(folder)) {
    found.emplace_back(each.path, each.name, each.version.n_bytes, each.n_kept_bytes, each.used_ns);
  }
  return found;
}

py::typing::Optional<py::typing::Dict<
    py::str,
    py::typing::List<py::typing::Tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>>>>
read_origins(const std::string& path) {
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

}  // namespace

void register_reading(py::module_& module) {
  module.def(
      "is_plain_tree", &root_io::is_plain_tree, py::arg("path"), py::arg("tree"),
      py::call_guard<py::gil_scoped_release>(),
      R"(Whether the columns of this tree can be read without ROOT's interpreter: the tree is in a
local file and of a form that is known here. Opens nothing else. Raises InputError if the file
cannot be opened.)");
  module.def(
      "has_plain_trees_alone", &root_io::has_plain_trees_alone, py::arg("path"),
      py::call_guard<py::gil_scoped_release>(),
      R"(Whether outputs of this file can be made without ROOT's interpreter: it is a local file with
nothing but trees of numbers. Raises InputError if it cannot be opened.)");
  module.def("stored_tables", &stored_tables, py::arg("path"),
             R"(Path, "rntuple" or "ttree", and number of entries of each table in a file. Raises
InputError.)");
  module.def("index_tree", &index_tree, py::arg("path"), py::arg("tree"), py::arg("run_branch"),
             py::arg("lumi_branch"), py::arg("event_branch"), py::arg("file_number") = 0,
             R"(Index of one file, in types of msgpack:

`{"uuid": str, "n_bytes": int, "modified_ns": int,      # 0 for a remote file
  "n_entries": int,
  "clusters": [first entry of each cluster, …, n_entries],  # of a tree without branches: []
  "ranges": {"run": …, "lumi": …, "last": …, "digest": …},  # maximal runs of entries of one
                  # lumi, bytes of columns: uint32, uint32, int64, four uint32 from the highest
  "events": [least, most], "rises": bool,   # numbers of events; whether they rise in each lumi
  "absent": str,                            # why there is no such tree, and so nothing else
  "branches": [[name, type, counter], …],
  "forms": [[name of a split branch, digest of its contents], …],
  "short_branches": branches with fewer entries than the tree,
  "other_objects": [digest of forms, digest of contents, [reason not to carry, …],
  whether objects may refer to others, other trees, whether objects in trees may]}`
where type is a column type such as "float32" or "float32[]", or "other:<TypeName>" for a branch
that can only be passed through; counter is the counting branch or "".
With run_branch, lumi_branch or event_branch "" the ids are run 1, lumi file_number + 1, event
entry number. Raises InputError: missing or truncated file; no such tree (names those there
are); no such branch (names the nearest one).)");
  module.def(
      "branch_accounts", &branch_accounts, py::arg("path"), py::arg("tree"),
      R"(Name, bytes unpacked, bytes in the file and ROOT's number of the compression of each branch,
branches within it included. Raises InputError.)");
  py::class_<root_io::OpenTree>(module, "OpenTree", "A tree or RNTuple of a file that stays open.")
      .def(py::init<const std::string&, const std::string&>(), py::arg("path"), py::arg("tree"))
      .def("read", &read_tree, py::arg("names"), py::arg("first") = 0, py::arg("last") = -1,
           "Like `read_columns`.");
  module.def(
      "read_columns", &read_columns, py::arg("path"), py::arg("tree"), py::arg("names"),
      py::arg("first") = 0, py::arg("last") = -1,
      R"(Columns of a tree: values, (n, 4) of arrays of fixed size; (offsets, values) of lists and of
texts, whose values are "S1"; (offsets, offsets, values) of lists of lists.)");
  module.def("byte_costs", &costs_of_thread,
             R"(Number, bytes and seconds of the reads of this thread since it began, and of its
unpacking: baskets, pages, and unpacked bytes.)");
  module.def(
      "list_remote", &listed_remote, py::arg("url"), py::call_guard<py::gil_scoped_release>(),
      R"(Names in a folder of a server, whether each is a folder, its bytes, -1: not known, and when
it changed last in ns. Raises InputError.)");
  module.def(
      "stat_remote", [](const Strings& urls) { return stat_remote(urls); }, py::arg("urls"),
      py::call_guard<py::gil_scoped_release>(),
      R"(The same of each remote file, without its name; -1 bytes where its server does not tell.)");
  module.def(
      "fill_cache",
      [](const std::string& name) {
        const auto account = fill_cache(name);
        return std::pair{account.bytes, account.cached_bytes};
      },
      py::arg("name"), py::call_guard<py::gil_scoped_release>(),
      R"(Reads all of a remote file, into the cache: bytes from the server, and from the
cache. Raises InputError.)");
  module.def("cached_files", &cached_files, py::arg("folder"),
             R"(Files of a cache of remote bytes: path, URL ("": it is damaged), bytes of the remote
file, bytes on the disk, and when a job used it last, in ns since 1970.)");
  module.def(
      "take_unanswered_servers",
      [] {
        auto* const cache = RemoteCache::of_job();
        return cache == nullptr ? Strings{} : cache->take_unanswered();
      },
      "Servers, new ones only, that do not answer and whose files were read from the cache.");
  module.def(
      "read_origins", &read_origins, py::arg("path"),
      R"(Where the rows of a file's carried trees came from: by path of a tree, in the order of its
rows, the halves of a file's UUID, its bytes, and the number of rows; None if the file has no
such record.)");
  module.def(
      "read_fragment", &read_fragment, py::arg("path"),
      R"(Pieces of a fragment, one after the other: its entries as (file, first, last), and the new
columns of these events. Raises InputError.)");
  module.def(
      "join_fragments", &join_fragments, py::arg("paths"), py::arg("joined"), py::arg("files"),
      py::call_guard<py::gil_scoped_release>(),
      R"(Writes fragments with the same columns as one; returns its size and CRC-32C. `files`: new
numbers of input files; others stay. Raises InputError or OutputError.)");
  module.def("events_of_fragment", &root_io::events_of_fragment, py::arg("path"),
             py::call_guard<py::gil_scoped_release>(),
             "Number of events in a fragment; reads all of it. Raises InputError.");
  module.def("tree_digest", &root_io::tree_digest, py::arg("path"), py::arg("tree"), py::arg("ids"),
             py::call_guard<py::gil_scoped_release>(),
             "Digest of the events, by these branches of run, lumi and number. Raises InputError.");
}

}  // namespace forkrun::bindings
