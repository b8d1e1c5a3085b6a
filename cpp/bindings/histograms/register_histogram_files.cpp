#include <algorithm>
#include <iterator>
#include <tuple>

#include <pybind11/stl.h>

#include <forkrun/formats/root_histograms/histogram_file.hpp>

#include "../bindings.hpp"
#include "../names.hpp"
#include "../records.hpp"
#include "arrays.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// Name, title, axes, storage, sums, whether it is sparse.
using HistogramContent = std::tuple<std::string, std::string, std::vector<root_io::AxisContent>,
                                    std::string, Array<double>, bool>;

root_io::HistogramContent content_of(const HistogramContent& given) {
  const auto& [name, title, axes, storage, sums, is_sparse] = given;
  const auto kind = named<root_io::HistogramStorage>(
      {"counts", "weights", "means", "weighted means"}, "storage", storage);
  return {name, title, axes, kind, span_of(sums), is_sparse};
}

void write_histograms(const std::string& path, const std::vector<HistogramContent>& histograms) {
  std::vector<root_io::HistogramContent> contents;
  std::ranges::transform(histograms, std::back_inserter(contents), content_of);
  root_io::write_histograms(path, contents);
}

py::array_t<double> array_of(const std::vector<double>& values, std::vector<py::ssize_t> shape) {
  return py::array_t<double>(std::move(shape), values.data());
}

py::typing::Dict<py::str, py::object> read_histogram(const std::string& path,
                                                     const std::string& name) {
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

void register_histogram_files(py::module_& module) {
  module.def(
      "read_histogram", &read_histogram, py::arg("path"), py::arg("name"),
      R"(A TH1, TH2 or TH3: title; edges, a (n_bins + 1,) array per axis; values and variances,
float64 with flow bins, a dimension per axis; axis_titles. Raises InputError.)");
  module.def(
      "write_histograms", &write_histograms, py::arg("path"), py::arg("histograms"),
      R"(Writes a new file of TH1D, TProfile and their sisters of 2 and 3 axes, and THnSparseD.
For each its name, which may have folders ("dimuon/mass"), title, axes, storage, sums, and whether it
is sparse. An axis: title, edges, whether the bins between the first and the last one are equal,
labels of bins. Sums: (n_sums, …, n_bins + 2 of axis 1, of axis 0), flow bins included; w: weights,
y: values of which a profile takes the mean; "counts": w; "weights": w, w²; "means": w, w y, w y²;
"weighted means": w, w², w y, w y². Raises OutputError.)");
}

}  // namespace forkrun::bindings
