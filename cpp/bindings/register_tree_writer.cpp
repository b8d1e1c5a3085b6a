#include <pybind11/stl.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/write/tree_writer.hpp>

#include "bindings.hpp"
#include "column_arrays.hpp"
#include "descriptions.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using root_io::TreeWriter;

std::unique_ptr<TreeWriter> make(const std::string& path, const std::string& tree,
                                 const NamesAndTypes& columns, const std::string& compression,
                                 const std::string& title, bool append_tree,
                                 const std::map<std::string, std::string>& counters) {
  std::vector<root_io::NewBranch> branches;
  for (const auto& [name, type] : columns) {
    const auto counter = counters.find(name);
    branches.push_back({name, ColumnType::parse(type),
                        counter == counters.end() ? std::nullopt : std::optional{counter->second}});
  }
  return std::make_unique<TreeWriter>(
      path, tree, std::move(branches), Compression::parse(compression), title,
      append_tree ? root_io::OutputMode::update : root_io::OutputMode::create);
}

void write(TreeWriter& writer, const py::dict& arrays) {
  std::vector<Column> cluster;
  for (const auto& [name, type, counter] : writer.columns()) {
    if (!arrays.contains(name)) {
      throw OutputError("unknown column \"" + name + "\" to write");
    }
    fill_column(cluster.emplace_back(type), arrays[py::str(name)], -1, "column \"" + name + "\"");
  }
  const py::gil_scoped_release release;
  writer.write(cluster);
}

}  // namespace

void register_tree_writer(py::module_& module) {
  py::class_<TreeWriter>(
      module, "TreeWriter",
      "Writes columns to a new tree of a new file (the sample generator, tests).")
      .def(py::init(&make), py::arg("path"), py::arg("tree"), py::arg("columns"),
           py::arg("compression"), py::arg("title") = "", py::arg("append_tree") = false,
           py::arg("counters") = std::map<std::string, std::string>{},
           R"(A jagged column "Muon_pt" gets the counter branch "nMuon" (the prefix before the first
"_"), shared by all columns of that prefix. append_tree: adds a tree to an existing file.
`counters`: by column, its counter if it is another one; "": one of its own.)")
      .def("write", &write, py::arg("columns"),
           "One cluster. Values, or (offsets, values) for jagged columns; counters are computed.")
      .def("close", &TreeWriter::close, py::call_guard<py::gil_scoped_release>());
}

}  // namespace forkrun::bindings
