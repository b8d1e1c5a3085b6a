#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <forkrun/plan/cut_lumi.hpp>
#include <forkrun/plan/number_keys.hpp>

#include "../bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Integers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

void check_lengths(bool fit) {
  if (!fit) {
    throw py::value_error("columns of ranges, and of lumis, are not as long as each other");
  }
}

/// `n_ranges`, `n_left`: of each lumi. \returns (n, 4): number of the range, part, first, last
Integers cut_lumis(const Integers& n_ranges, const Integers& n_left, const Integers& file,
                   const Integers& first, const Integers& last,
                   const std::vector<std::vector<std::int64_t>>& clusters, const UnitSizes& sizes) {
  check_lengths(n_ranges.size() == n_left.size() && file.size() == first.size() &&
                file.size() == last.size());
  std::vector<RangeToCut> ranges;
  ranges.reserve(static_cast<std::size_t>(file.size()));
  for (py::ssize_t i = 0; i < file.size(); ++i) {
    const auto number = static_cast<std::size_t>(file.data()[i]);
    ranges.push_back({first.data()[i], last.data()[i], clusters.at(number)});
  }
  std::vector<Cut> cuts;
  cuts.reserve(ranges.size());
  std::size_t begin = 0;
  for (py::ssize_t lumi = 0; lumi < n_ranges.size(); ++lumi) {
    const auto n = static_cast<std::size_t>(n_ranges.at(lumi));
    check_lengths(begin + n <= ranges.size());
    const auto n_before = cuts.size();
    cut_lumi(std::span{ranges}.subspan(begin, n), n_left.at(lumi), sizes, cuts);
    for (auto& cut : std::span{cuts}.subspan(n_before)) {
      cut.range += static_cast<std::int64_t>(begin);
    }
    begin += n;
  }
  Integers table({static_cast<py::ssize_t>(cuts.size()), py::ssize_t{4}});
  auto* place = table.mutable_data();
  for (const auto& cut : cuts) {
    for (const auto number : {cut.range, cut.part, cut.first, cut.last}) {
      *place++ = number;
    }
  }
  return table;
}

/// \returns first place of each number, number of each place
py::typing::Tuple<Integers, Integers> number_all(
    const py::array_t<std::uint64_t, py::array::c_style>& keys) {
  const auto found = number_keys({keys.data(), static_cast<std::size_t>(keys.size())});
  return py::make_tuple(Integers(std::ssize(found.first), found.first.data()),
                        Integers(std::ssize(found.number), found.number.data()));
}

/// "[1, 2, 3]", as JSON.
py::bytes json_list(const Integers& numbers) {
  std::string text = "[";
  std::array<char, 4096> buffer{};
  constexpr std::ptrdiff_t most_digits = 24;  // with the separator
  auto* end = buffer.begin();
  for (const auto number : std::span{numbers.data(), static_cast<std::size_t>(numbers.size())}) {
    if (buffer.end() - end < most_digits) {
      text.append(buffer.begin(), end);
      end = buffer.begin();
    }
    end = std::to_chars(end, buffer.end(), number).ptr;
    *end++ = ',';
    *end++ = ' ';
  }
  text.append(buffer.begin(), end);
  if (numbers.size() > 0) {  // after the last
    text.erase(text.size() - 2);
  }
  return text += "]";
}

}  // namespace

void register_plan(py::module_& module) {
  py::class_<UnitSizes>(
      module, "UnitSizes",
      R"(How many events units should have. `last`: events that may be left while the last ones are
processed; `n_units_left`: units of the present size that are left; `slack`: largest size over
the wanted one; `least`: of a piece of a lumi; `limit`: largest number of events.)")
      .def(py::init([](double last, double n_units_left, double slack, std::int64_t least,
                       std::int64_t limit) {
             return UnitSizes{{last, n_units_left, slack, least, limit}};
           }),
           py::kw_only(), py::arg("last"), py::arg("n_units_left"), py::arg("slack"),
           py::arg("least"), py::arg("limit"));
  module.def(
      "cut_lumis", &cut_lumis, py::arg("n_ranges"), py::arg("n_left"), py::arg("file"),
      py::arg("first"), py::arg("last"), py::arg("clusters"), py::arg("sizes"),
      R"((n, 4): range, part of its lumi, first and last entry of the pieces of lumis, cut where
clusters begin if near enough. `n_ranges`, `n_left` : (n_lumis,) ranges of each, and events of
the job from it on; `file`, `first`, `last` : (n_ranges,) of them, lumi after lumi; `clusters`:
for each file, the first entry of each, then the number of entries. Raises ValueError if columns
do not fit each other.)");
  module.def(
      "number_keys", &number_all, py::arg("keys"),
      R"(Numbers the distinct keys of (n,) in order of appearance: first place of each number, and
(n,) the number of each place. Like `np.unique`, without sorting.)");
  module.def("json_list", &json_list, py::arg("numbers"),
             R"((n,) numbers as JSON, "[1, 2, 3]": faster than from a Python list.)");
}

}  // namespace forkrun::bindings
