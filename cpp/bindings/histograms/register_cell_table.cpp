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

/// Axes of a histogram, fixed for all fills. Each is (n_bins, underflow, overflow), then (…, low,
/// width) or (…, edges) if it is filled with coordinates.
class FillAxes {
 public:
  explicit FillAxes(const std::vector<py::tuple>& axes) {
    for (const auto& axis : axes) {
      FillAxis made{.n_bins = axis[0].cast<std::uint32_t>(),
                    .has_underflow = axis[1].cast<bool>(),
                    .has_overflow = axis[2].cast<bool>()};
      if (axis.size() == 4) {
        made.edges = checked_edges(edges_.emplace_back(axis[3].cast<Array<double>>()), made.n_bins);
      } else if (axis.size() == 5) {
        made.low = axis[3].cast<double>();
        made.width = axis[4].cast<double>();
      }
      axes_.push_back(made);
    }
  }
  [[nodiscard]] const std::vector<FillAxis>& axes() const { return axes_; }

 private:
  std::vector<FillAxis> axes_;
  std::vector<Array<double>> edges_;  ///< memory that axes point to
};

bool has_coordinates(const FillAxis& axis) { return axis.edges != nullptr || axis.width != 0; }

FillColumn column_of(const Array<double>& values) { return {values.data(), values.size() == 1}; }

/// Number of entries of columns, some of which may have one value for all; weights and samples have
/// as many.
std::size_t n_entries_of(const std::vector<py::array>& columns, std::size_t n_weights,
                         std::size_t n_samples) {
  std::size_t n_entries = 1;
  for (const auto& column : columns) {
    const auto n = static_cast<std::size_t>(column.size());
    if (n != 1 && n_entries != 1 && n != n_entries) {
      throw py::value_error("spans must have compatible lengths");  // as boost-histogram says it
    }
    n_entries = n == 1 ? n_entries : n;
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

/// `columns`: (n,) or (1,) coordinates, or bins, of each axis; `weights`, `samples`: none, one, or
/// one for each entry. \returns coordinates that are NaN
std::size_t fill(CellTable& table, const FillAxes& of_histogram,
                 const std::vector<py::array>& columns, const std::optional<Array<double>>& weights,
                 const std::optional<Array<double>>& samples) {
  auto axes = of_histogram.axes();
  check_cells(axes, table.n_cells());
  if (columns.size() != axes.size()) {
    throw py::value_error("wanted a column for each axis");
  }
  std::vector<py::array> kept;  // memory that axes point to
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].is_one = columns[i].size() == 1;
    if (has_coordinates(axes[i])) {
      axes[i].coordinates =
          static_cast<const double*>(kept.emplace_back(Array<double>(columns[i])).data());
    } else {
      axes[i].bins = static_cast<const std::int32_t*>(
          kept.emplace_back(Array<std::int32_t>(columns[i])).data());
    }
  }
  const auto size = [](const auto& column) { return column ? span_of(*column).size() : 1; };
  const std::size_t n_entries = n_entries_of(columns, size(weights), size(samples));
  const FillColumn w = weights ? column_of(*weights) : FillColumn{};
  const FillColumn y = samples ? column_of(*samples) : FillColumn{};
  const py::gil_scoped_release release;
  table.fill(axes, w, y, n_entries);
  return count_nan(axes, n_entries);
}

/// Column of float64 or float32, contiguous, in its own memory.
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

/// `values`: none or plain. \returns nothing if they are neither, or their number differs from the
/// entries'
std::optional<FillColumn> fill_column(const py::object& values, std::size_t n_entries) {
  if (values.is_none()) {
    return FillColumn{};
  }
  const auto column = plain_column(values);
  return column && column->size == n_entries
             ? std::optional{FillColumn{column->doubles, false, column->floats}}
             : std::nullopt;
}

/// \pre axes that are filled with coordinates
/// \returns coordinates that are NaN; none, and nothing is filled, unless all are plain columns of
/// one length, with samples for a profile and none for others.
std::optional<std::size_t> fill_columns(CellTable& table, const FillAxes& of_histogram,
                                        const py::tuple& columns, const py::object& weights,
                                        const py::object& samples) {
  auto axes = of_histogram.axes();
  check_cells(axes, table.n_cells());
  if (columns.size() != axes.size() || has_samples(table.moments()) == samples.is_none()) {
    return std::nullopt;
  }
  std::size_t n_entries = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto column = plain_column(columns[i]);
    if (!column || (i > 0 && column->size != n_entries)) {
      return std::nullopt;
    }
    n_entries = column->size;
    axes[i].coordinates = column->doubles;
    axes[i].floats = column->floats;
  }
  const auto w = fill_column(weights, n_entries);
  const auto y = fill_column(samples, n_entries);
  if (!w || !y) {
    return std::nullopt;
  }
  const py::gil_scoped_release release;
  table.fill(axes, *w, *y, n_entries);
  return count_nan(axes, n_entries);
}

CellTable table_of_sums(const std::string& storage, const ExactSums& sums) {
  const auto moments = moments_of(storage);
  if (n_sums_of(moments) != sums.n_sums()) {
    throw py::value_error("there are not as many sums as the storage has");
  }
  return {moments, sums};
}

}  // namespace

void register_cell_table(py::module_& module) {
  py::class_<FillAxes>(module, "FillAxes", "Axes of a histogram, fixed for all fills.")
      .def(py::init<const std::vector<py::tuple>&>(), py::arg("axes"),
           R"(`axes`: number of bins, whether there are underflow and overflow; of axes that are
filled with coordinates also low and width of all bins, or (n_bins + 1,) edges. Raises
ValueError if these are not as many.)");
  py::class_<CellTable>(
      module, "CellTable",
      R"(Exact content of a histogram: entries without weight or sample are counted,
others are sums. `storage`: that of HistogramSums. The first axis runs fastest.)")
      .def(py::init([](const std::string& storage, std::size_t n_cells) {
             return CellTable{moments_of(storage), n_cells};
           }),
           py::arg("storage"), py::arg("n_cells"))
      .def_static("of_sums", &table_of_sums, py::arg("storage"), py::arg("sums"))
      .def_property_readonly("n_cells", &CellTable::n_cells)
      .def_property_readonly("empty", &CellTable::empty, "Nothing was filled.")
      .def("fill", &fill, py::arg("axes"), py::arg("columns"), py::arg("weights") = py::none(),
           py::arg("samples") = py::none(),
           R"(Adds w, w², w y, w y² of each entry, as the storage has them. Entries in flow bins
that an axis does not have are left out. Columns: coordinates, or bins from -1 to n_bins;
all are (n,), or (1,) for all entries. Gives how many coordinates are NaN. Raises ValueError
if lengths differ. Releases the GIL.)")
      .def("fill_columns", &fill_columns, py::arg("axes"), py::arg("columns"), py::arg("weights"),
           py::arg("samples") = py::none(),
           R"(The same for coordinates on each axis, and one of weights and one of samples, or None.
None, and nothing is filled, unless all are (n,) of float64 or float32, contiguous, and
there are samples for a storage of means and none for others.)")
      .def("total", &CellTable::total);
}

}  // namespace forkrun::bindings
