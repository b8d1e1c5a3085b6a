#include <optional>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <forkrun/histograms/cell_table.hpp>

#include "../bindings.hpp"
#include "../names.hpp"
#include "arrays.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

Moments moments_of(const std::string& storage) {
  return named<Moments>({"counts", "weights", "means", "weighted means"}, "storage", storage);
}

const double* checked_edges(const Array<double>& edges, std::uint32_t n_bins) {
  if (span_of(edges).size() != std::size_t{n_bins} + 1) {
    throw py::value_error("a variable axis has an edge more than bins");
  }
  return edges.data();
}

/// One axis of a fill: (n_bins, underflow, overflow, bins), (…, coordinates, low, width) or
/// (…, coordinates, edges).
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
      if (axis.size() == 5) {
        edges_ = axis[4].cast<Array<double>>();
        axis_.edges = checked_edges(edges_, axis_.n_bins);
      } else {
        axis_.low = axis[4].cast<double>();
        axis_.width = axis[5].cast<double>();
      }
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
  Array<double> edges_;
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

void check_cells(std::span<const FillAxis> axes, std::size_t n_expected) {
  std::size_t n_cells = 1;
  for (const auto& axis : axes) {
    n_cells *=
        std::size_t{axis.n_bins} + (axis.has_underflow ? 1 : 0) + (axis.has_overflow ? 1 : 0);
  }
  if (n_cells != n_expected) {
    throw py::value_error("the axes do not have as many bins as there are cells");
  }
}

/// `weights`, `samples`: none, one, or one for each entry.
void fill(CellTable& table, const std::vector<py::tuple>& axes,
          const std::optional<Array<double>>& weights,
          const std::optional<Array<double>>& samples) {
  std::vector<AxisOfFill> of_fill(axes.begin(), axes.end());
  std::vector<FillAxis> plain;
  for (const auto& each : of_fill) {
    plain.push_back(each.axis());
  }
  check_cells(plain, table.n_cells());
  const auto size = [](const auto& column) { return column ? span_of(*column).size() : 1; };
  const std::size_t n_entries = n_entries_of(of_fill, size(weights), size(samples));
  const FillColumn w = weights ? column_of(*weights) : FillColumn{};
  const FillColumn y = samples ? column_of(*samples) : FillColumn{};
  const py::gil_scoped_release release;
  table.fill(plain, w, y, n_entries);
}

/// Axes of numbers, each (n_bins, underflow, overflow, low, width) of a regular one or (n_bins,
/// underflow, overflow, edges) of a variable one: what does not change from fill to fill.
class NumberAxes {
 public:
  explicit NumberAxes(const std::vector<py::tuple>& axes) {
    for (const auto& axis : axes) {
      FillAxis made{.n_bins = axis[0].cast<std::uint32_t>(),
                    .has_underflow = axis[1].cast<bool>(),
                    .has_overflow = axis[2].cast<bool>()};
      if (axis.size() == 4) {
        made.edges = checked_edges(edges_.emplace_back(axis[3].cast<Array<double>>()), made.n_bins);
      } else {
        made.low = axis[3].cast<double>();
        made.width = axis[4].cast<double>();
      }
      axes_.push_back(made);
    }
  }
  [[nodiscard]] const std::vector<FillAxis>& axes() const { return axes_; }

 private:
  std::vector<FillAxis> axes_;
  std::vector<Array<double>> edges_;  ///< what axes point to
};

/// A column of float64 or float32 whose elements lie next to each other: its own memory.
struct PlainColumn {
  const double* doubles{};
  const float* floats{};
  std::size_t size{};
};

std::optional<PlainColumn> plain_column(const py::handle& object) {
  if (!py::isinstance<py::array>(object)) {
    return std::nullopt;
  }
  const auto array = py::reinterpret_borrow<py::array>(object);
  if (array.ndim() != 1 || (array.flags() & py::array::c_style) == 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(array.size());
  if (py::isinstance<py::array_t<double>>(array)) {
    return PlainColumn{static_cast<const double*>(array.data()), nullptr, size};
  }
  if (py::isinstance<py::array_t<float>>(array)) {
    return PlainColumn{nullptr, static_cast<const float*>(array.data()), size};
  }
  return std::nullopt;
}

/// `values`: none or plain. \returns nothing if they are neither, or not as many as the entries
std::optional<FillColumn> fill_column(const py::object& values, std::size_t n_entries) {
  if (values.is_none()) {
    return FillColumn{};
  }
  const auto column = plain_column(values);
  return column && column->size == n_entries
             ? std::optional{FillColumn{column->doubles, false, column->floats}}
             : std::nullopt;
}

/// \returns false, and nothing is filled, unless all are plain columns of one length, with samples
/// for a profile and none for others.
bool fill_columns(CellTable& table, const NumberAxes& numbers, const py::tuple& columns,
                  const py::object& weights, const py::object& samples) {
  auto axes = numbers.axes();
  check_cells(axes, table.n_cells());
  if (columns.size() != axes.size() || has_samples(table.moments()) == samples.is_none()) {
    return false;
  }
  std::size_t n_entries = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto column = plain_column(columns[i]);
    if (!column || (i > 0 && column->size != n_entries)) {
      return false;
    }
    n_entries = column->size;
    axes[i].coordinates = column->doubles;
    axes[i].floats = column->floats;
  }
  const auto w = fill_column(weights, n_entries);
  const auto y = fill_column(samples, n_entries);
  if (!w || !y) {
    return false;
  }
  const py::gil_scoped_release release;
  table.fill(axes, *w, *y, n_entries);
  return true;
}

CellTable table_of_sums(const std::string& storage, const ExactSums& sums) {
  const auto moments = moments_of(storage);
  if (n_sums_of(moments) != sums.n_sums()) {
    throw py::value_error("there are not as many sums as the storage has");
  }
  return {moments, sums};
}

void clear_cells(CellTable& table, const Array<std::uint32_t>& cells) {
  check_numbers(span_of(cells), table.n_cells());
  for (const auto cell : span_of(cells)) {
    table.clear_cell(cell);
  }
}

void move_cells(CellTable& table, const Array<std::uint32_t>& places, std::size_t n_cells) {
  if (static_cast<std::size_t>(places.size()) != table.n_cells()) {
    throw py::value_error("wanted a place per cell");
  }
  check_numbers(span_of(places), n_cells);
  table.move_cells(span_of(places), n_cells);
}

}  // namespace

void register_cell_table(py::module_& module) {
  py::class_<NumberAxes>(module, "NumberAxes")
      .def(py::init<const std::vector<py::tuple>&>(), py::arg("axes"));
  py::class_<CellTable>(module, "CellTable")
      .def(py::init([](const std::string& storage, std::size_t n_cells) {
             return CellTable{moments_of(storage), n_cells};
           }),
           py::arg("storage"), py::arg("n_cells"))
      .def_static("of_sums", &table_of_sums, py::arg("storage"), py::arg("sums"))
      .def_property_readonly("n_cells", &CellTable::n_cells)
      .def_property_readonly("empty", &CellTable::empty)
      .def("fill", &fill, py::arg("axes"), py::arg("weights") = py::none(),
           py::arg("samples") = py::none())
      .def("fill_columns", &fill_columns, py::arg("axes"), py::arg("columns"), py::arg("weights"),
           py::arg("samples") = py::none())
      .def("total", &CellTable::total)
      .def("clear_cells", &clear_cells, py::arg("cells"))
      .def("move_cells", &move_cells, py::arg("places"), py::arg("n_cells"));
}

}  // namespace forkrun::bindings
