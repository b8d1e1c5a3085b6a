#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/histograms/exact_sums.hpp>

#include "../bindings.hpp"
#include "arrays.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// `values`: (n_sums, n)
void add_values(ExactSums& sums, const Array<std::uint32_t>& cells, const Array<double>& values) {
  if (values.ndim() != 2 || values.shape(0) != static_cast<py::ssize_t>(sums.n_sums()) ||
      values.shape(1) != cells.size()) {
    throw py::value_error("wanted a value per sum and cell");
  }
  check_numbers(span_of(cells), sums.n_cells());
  std::vector<const double*> columns;
  for (py::ssize_t s = 0; s < values.shape(0); ++s) {
    columns.push_back(values.data() + s * values.shape(1));
  }
  sums.add(span_of(cells), columns);
}

void merge(ExactSums& sums, const ExactSums& other) {
  if (sums.n_sums() != other.n_sums() || sums.n_cells() != other.n_cells()) {
    throw py::value_error("the tables differ in size");
  }
  const py::gil_scoped_release release;
  sums.merge(other);
}

void clear_sums(ExactSums& sums, const Array<std::uint32_t>& cells) {
  check_numbers(span_of(cells), sums.n_cells());
  for (const auto cell : span_of(cells)) {
    sums.clear_cell(cell);
  }
}

void move_sums(ExactSums& sums, const Array<std::uint32_t>& places, std::size_t n_cells) {
  if (static_cast<std::size_t>(places.size()) != sums.n_cells()) {
    throw py::value_error("wanted a place per cell");
  }
  check_numbers(span_of(places), n_cells);
  sums.move_cells(span_of(places), n_cells);
}

py::array_t<double> rounded(const ExactSums& sums) {
  std::vector<double> values;
  {
    const py::gil_scoped_release release;
    values = sums.rounded();
  }
  return py::array_t<double>({sums.n_sums(), sums.n_cells()}, values.data());
}

py::array_t<std::uint64_t> packed(const ExactSums& sums) {
  const auto words = sums.packed();
  return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(words.size()), words.data());
}

/// A file's content need not be valid: errors are ValueError.
ExactSums unpacked(const Array<std::uint64_t>& packed, std::size_t n_sums, std::size_t n_cells) {
  try {
    return ExactSums::unpacked(span_of(packed), n_sums, n_cells);
  } catch (const Error& error) {
    throw py::value_error(error.what());
  }
}

}  // namespace

void register_exact_sums(py::module_& module) {
  py::class_<ExactSums>(
      module, "ExactSums",
      R"(Sums of doubles without rounding, n_sums for each of n_cells. They depend neither on the
order nor on the grouping of additions. Memory is taken at additions.)")
      .def(py::init<std::size_t, std::size_t>(), py::arg("n_sums"), py::arg("n_cells"))
      .def_property_readonly("n_sums", &ExactSums::n_sums)
      .def_property_readonly("n_cells", &ExactSums::n_cells)
      .def_property_readonly("n_words", &ExactSums::n_words, "Words of 64 bits per sum.")
      .def_property_readonly("n_not_finite", &ExactSums::n_not_finite,
                             "Values added that were infinite or NaN.")
      .def_property_readonly("empty", &ExactSums::empty)
      .def("add", &add_values, py::arg("cells"), py::arg("values"),
           "`cells`: (n,); `values`: (n_sums, n)")
      .def("merge", &merge, py::arg("other"))
      .def("clear", &ExactSums::clear)
      .def("clear_cells", &clear_sums, py::arg("cells"))
      .def("move_cells", &move_sums, py::arg("places"), py::arg("n_cells"),
           "Moves each cell to its place, (n_cells,), in another table; a smaller one adds cells.")
      .def("copy", [](const ExactSums& sums) { return ExactSums{sums}; })
      .def("rounded", &rounded, "(n_sums, n_cells), as math.fsum rounds.")
      .def("packed", &packed, "The same for the same sums; cells with content only.")
      .def_static("unpacked", &unpacked, py::arg("packed"), py::arg("n_sums"), py::arg("n_cells"),
                  R"(Inverse of `packed`; takes memory for the given sums only. Raises ValueError
if it is no result of it.)");
}

}  // namespace forkrun::bindings
