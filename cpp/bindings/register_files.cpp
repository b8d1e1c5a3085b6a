#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/root_io/branch_reader.hpp>
#include <forkrun/root_io/file_merger.hpp>
#include <forkrun/root_io/histogram_file.hpp>
#include <forkrun/root_io/histogram_reader.hpp>
#include <forkrun/root_io/read_columns.hpp>
#include <forkrun/root_io/tree_index.hpp>

#include "bindings.hpp"
#include "column_arrays.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Strings = std::vector<std::string>;
using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;

py::dict index_tree(const std::string& path, const std::string& tree, const std::string& run_branch,
                    const std::string& lumi_branch, const std::string& event_branch,
                    std::uint32_t file_number) {
  root_io::TreeIndex index;
  {
    const py::gil_scoped_release release;
    index = root_io::index_tree(path, tree, {run_branch, lumi_branch, event_branch}, file_number);
  }
  py::list ranges;
  for (const auto& range : index.ranges) {
    ranges.append(
        py::make_tuple(range.lumi.run, range.lumi.lumi, range.first, range.last, range.digest.hex())
            .cast<py::list>());
  }
  py::list branches;
  for (const auto& branch : index.branches) {
    branches.append(
        py::make_tuple(branch.name, branch.described_type(), branch.counter).cast<py::list>());
  }
  return py::dict(py::arg("uuid") = index.uuid, py::arg("n_entries") = index.n_entries,
                  py::arg("clusters") = index.clusters, py::arg("ranges") = ranges,
                  py::arg("branches") = branches);
}

py::dict read_columns(const std::string& path, const std::string& tree, const Strings& names,
                      std::int64_t first, std::int64_t last) {
  std::vector<Column> columns;
  {
    const py::gil_scoped_release release;
    columns = root_io::read_columns(path, tree, names, first, last);
  }
  py::dict arrays;
  for (std::size_t i = 0; i < names.size(); ++i) {
    arrays[py::str(names[i])] = arrays_of(columns[i]);
  }
  return arrays;
}

std::map<std::string, std::int64_t> merge_trees(const Strings& inputs, const std::string& output,
                                                const std::optional<Strings>& trees,
                                                const std::optional<std::string>& compression,
                                                const std::function<void(std::size_t)>& progress) {
  root_io::MergeRequest request{inputs, output, trees, {}, progress};
  if (compression) {
    request.compression = root_io::Compression::parse(*compression);
  }
  return root_io::merge_files(request);
}

Strings carry_objects(const Strings& inputs, const std::string& output,
                      const py::iterable& exclude) {
  std::set<std::string> names;
  for (const auto name : exclude) {
    names.insert(name.cast<std::string>());
  }
  const py::gil_scoped_release release;
  return root_io::carry_objects(inputs, output, names);
}

EventDigest tree_digest(const std::string& path, const std::string& tree,
                        const std::string& run_branch, const std::string& lumi_branch,
                        const std::string& event_branch) {
  return root_io::tree_digest(path, tree, {run_branch, lumi_branch, event_branch});
}

/// Name, title, edges, values, variances, titles of the axes.
using HistogramContent = std::tuple<std::string, std::string, std::vector<std::vector<double>>,
                                    Doubles, Doubles, Strings>;

void write_histograms(const std::string& path, const std::vector<HistogramContent>& histograms) {
  const auto span_of = [](const Doubles& array) {
    return std::span{array.data(), static_cast<std::size_t>(array.size())};
  };
  std::vector<root_io::HistogramContent> contents;
  for (const auto& [name, title, edges, values, variances, axis_titles] : histograms) {
    contents.push_back({name, title, edges, span_of(values), span_of(variances), axis_titles});
  }
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
  module.def("index_tree", &index_tree, py::arg("path"), py::arg("tree"), py::arg("run_branch"),
             py::arg("lumi_branch"), py::arg("event_branch"), py::arg("file_number") = 0);
  module.def("read_columns", &read_columns, py::arg("path"), py::arg("tree"), py::arg("names"),
             py::arg("first") = 0, py::arg("last") = -1);
  module.def("merge_trees", &merge_trees, py::arg("inputs"), py::arg("output"),
             py::arg("trees") = py::none(), py::arg("compression") = py::none(),
             py::arg("progress") = py::none(), py::call_guard<py::gil_scoped_release>());
  module.def("carry_objects", &carry_objects, py::arg("inputs"), py::arg("output"),
             py::arg("exclude"));
  module.def("tree_digest", &tree_digest, py::arg("path"), py::arg("tree"), py::arg("run_branch"),
             py::arg("lumi_branch"), py::arg("event_branch"),
             py::call_guard<py::gil_scoped_release>());
  module.def("read_histogram", &read_histogram, py::arg("path"), py::arg("name"));
  module.def("write_histograms", &write_histograms, py::arg("path"), py::arg("histograms"));
}

}  // namespace forkrun::bindings
