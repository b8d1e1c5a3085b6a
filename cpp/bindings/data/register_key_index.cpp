#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <span>
#include <vector>

#include <forkrun/core/data/key_index.hpp>

#include "../bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using KeyArray = py::array_t<std::uint64_t, py::array::c_style | py::array::forcecast>;

std::vector<std::span<const std::uint64_t>> spans_of(const std::vector<KeyArray>& keys) {
  std::vector<std::span<const std::uint64_t>> spans;
  for (const auto& each : keys) {
    spans.emplace_back(each.data(), static_cast<std::size_t>(each.size()));
    if (spans.back().size() != spans.front().size()) {
      throw py::value_error("columns of keys are of different lengths");
    }
  }
  if (spans.empty()) {
    throw py::value_error("an index needs at least one column of keys");
  }
  return spans;
}

void add_keys(KeyIndex& index, const std::vector<KeyArray>& keys) {
  const auto spans = spans_of(keys);
  const py::gil_scoped_release release;
  index.add(spans);
}

template <typename T>
py::array_t<T> key_array(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::typing::Tuple<py::array_t<std::int64_t>, py::array_t<std::int64_t>, py::array_t<std::uint8_t>>
partners_of(const KeyIndex& index, const std::vector<KeyArray>& keys, bool takes_first) {
  const auto spans = spans_of(keys);
  KeyPartners found;
  {
    const py::gil_scoped_release release;
    found = index.partners(spans, takes_first ? KeyIndex::Rule::first : KeyIndex::Rule::none);
  }
  return py::make_tuple(key_array(found.first), key_array(found.partner), key_array(found.repeats));
}

}  // namespace

void register_key_index(py::module_& module) {
  py::class_<KeyIndex>(
      module, "KeyIndex",
      R"(Finds entries by keys: `n_keys` integers that name an event together. `keys`: a column for
each, (n,), all as long. Both functions release the GIL.)")
      .def(py::init<std::size_t>(), py::arg("n_keys"))
      .def("add", &add_keys, py::arg("keys"),
           "Appends entries. Raises RuntimeError beyond 2^32 - 2.")
      .def("__len__", &KeyIndex::size)
      .def("partners", &partners_of, py::arg("keys"), py::arg("takes_first") = false,
           R"(Which of its entries have these keys, as stretches: place of the first of each; the
entry, each further one having the next, or -1 (none) or -2 (several, unless it
`takes_first`); and whether all have this same one.)");
}

}  // namespace forkrun::bindings
