#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/exact_fills.hpp>

#include "../bindings.hpp"
#include "../names.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

template <typename T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <typename T>
std::span<const T> span_of(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

Moments moments_of(const std::string& storage) {
  return named<Moments>({"counts", "weights", "means", "weighted means"}, "storage", storage);
}

/// One axis of a fill: (n_bins, underflow, overflow, bins) or (…, coordinates, low, width).
class AxisOfFill {
 public:
  explicit AxisOfFill(const py::tuple& axis) {
    axis_.n_bins = axis[0].cast<std::uint32_t>();
    axis_.has_underflow = axis[1].cast<bool>();
    axis_.has_overflow = axis[2].cast<bool>();
    if (axis.size() == 4) {
      bins_ = axis[3].cast<Array<std::int32_t>>();
      axis_.bins = bins_.data();
    } else {
      coordinates_ = axis[3].cast<Array<double>>();
      axis_.coordinates = coordinates_.data();
      axis_.low = axis[4].cast<double>();
      axis_.width = axis[5].cast<double>();
    }
    axis_.is_one = n_entries() == 1;
  }

  [[nodiscard]] std::size_t n_entries() const {
    return static_cast<std::size_t>(axis_.bins != nullptr ? bins_.size() : coordinates_.size());
  }
  [[nodiscard]] const FillAxis& axis() const { return axis_; }

 private:
  FillAxis axis_;
  Array<std::int32_t> bins_;
  Array<double> coordinates_;
};

FillColumn column_of(const Array<double>& values) { return {values.data(), values.size() == 1}; }

/// Entries: of the axes, of which some may have one value for all. Weights and samples have as
/// many.
std::size_t n_entries_of(const std::vector<AxisOfFill>& axes, std::size_t n_weights,
                         std::size_t n_samples) {
  std::size_t n_entries = 1;
  for (const auto& axis : axes) {
    if (axis.n_entries() != 1 && n_entries != 1 && axis.n_entries() != n_entries) {
      throw py::value_error("spans must have compatible lengths");  // as boost-histogram says it
    }
    n_entries = axis.n_entries() == 1 ? n_entries : axis.n_entries();
  }
  for (const std::size_t n : {n_weights, n_samples}) {
    if (n != 1 && n != n_entries) {
      throw py::value_error("spans must have compatible lengths");
    }
  }
  return n_entries;
}

void check_cells(const std::vector<AxisOfFill>& axes, const ExactSums& sums) {
  std::size_t n_cells = 1;
  for (const auto& each : axes) {
    const auto& axis = each.axis();
    n_cells *=
        std::size_t{axis.n_bins} + (axis.has_underflow ? 1 : 0) + (axis.has_overflow ? 1 : 0);
  }
  if (n_cells != sums.n_cells()) {
    throw py::value_error("the axes do not have as many bins as there are cells");
  }
}

void fill(ExactSums& sums, const std::string& storage, const std::vector<py::tuple>& axes,
          const Array<double>& weights, const Array<double>& samples) {
  std::vector<AxisOfFill> of_fill(axes.begin(), axes.end());
  std::vector<FillAxis> plain;
  for (const auto& each : of_fill) {
    plain.push_back(each.axis());
  }
  const auto moments = moments_of(storage);
  check_cells(of_fill, sums);
  if (n_sums_of(moments) != sums.n_sums()) {
    throw py::value_error("there are not as many sums as the storage has");
  }
  const std::size_t n_entries =
      n_entries_of(of_fill, span_of(weights).size(), span_of(samples).size());
  const py::gil_scoped_release release;
  fill_sums(sums, moments, plain, column_of(weights), column_of(samples), n_entries);
}

void check_numbers(std::span<const std::uint32_t> cells, std::size_t n_cells) {
  for (const auto cell : cells) {
    if (cell >= n_cells) {
      throw py::index_error("cell " + std::to_string(cell) + " of " + std::to_string(n_cells));
    }
  }
}

/// `values`: (n_sums, n)
void add(ExactSums& sums, const Array<std::uint32_t>& cells, const Array<double>& values) {
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

void clear_cells(ExactSums& sums, const Array<std::uint32_t>& cells) {
  check_numbers(span_of(cells), sums.n_cells());
  for (const auto cell : span_of(cells)) {
    sums.clear_cell(cell);
  }
}

void move_cells(ExactSums& sums, const Array<std::uint32_t>& places, std::size_t n_cells) {
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

/// What a file says need not be true: errors are ValueError.
ExactSums unpacked(const Array<std::uint64_t>& packed, std::size_t n_sums, std::size_t n_cells) {
  try {
    return ExactSums::unpacked(span_of(packed), n_sums, n_cells);
  } catch (const Error& error) {
    throw py::value_error(error.what());
  }
}

}  // namespace

void register_exact_sums(py::module_& module) {
  py::class_<ExactSums>(module, "ExactSums")
      .def(py::init<std::size_t, std::size_t>(), py::arg("n_sums"), py::arg("n_cells"))
      .def_property_readonly("n_sums", &ExactSums::n_sums)
      .def_property_readonly("n_cells", &ExactSums::n_cells)
      .def_property_readonly("n_words", &ExactSums::n_words)
      .def_property_readonly("n_not_finite", &ExactSums::n_not_finite)
      .def_property_readonly("empty", &ExactSums::empty)
      .def("fill", &fill, py::arg("storage"), py::arg("axes"), py::arg("weights"),
           py::arg("samples"))
      .def("add", &add, py::arg("cells"), py::arg("values"))
      .def("merge", &merge, py::arg("other"))
      .def("clear", &ExactSums::clear)
      .def("clear_cells", &clear_cells, py::arg("cells"))
      .def("move_cells", &move_cells, py::arg("places"), py::arg("n_cells"))
      .def("copy", [](const ExactSums& sums) { return ExactSums{sums}; })
      .def("rounded", &rounded)
      .def("packed", &packed)
      .def_static("unpacked", &unpacked, py::arg("packed"), py::arg("n_sums"), py::arg("n_cells"));
}

}  // namespace forkrun::bindings
