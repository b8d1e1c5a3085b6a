#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <variant>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/random/block_random.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using random::Parameter;

template <typename T>
using Array = py::array_t<T, py::array::c_style>;
/// The number of values of each event, or the offsets of a jagged column.
using Counts = std::variant<std::size_t, Array<std::int64_t>>;

/// One value, or one for each number drawn.
template <typename T>
Parameter<T> parameter(const Array<T>& values, std::size_t n_values) {
  const auto size = static_cast<std::size_t>(values.size());
  if (size != 1 && size != n_values) {
    throw Error("a parameter has " + counted(size, "value") + "; wanted one, or one for each of " +
                std::to_string(n_values) + " random numbers");
  }
  return {values.data(), size == 1 ? std::size_t{0} : std::size_t{1}};
}

/// The checked number of values per event, and the array to fill.
template <typename T>
struct Draw {
  Draw(const BlockRandom& block, const Counts& counts)
      : values{values_of(block, counts)},
        n_values{values.of_all(block.n_events())},
        array{static_cast<py::ssize_t>(n_values)},
        into{array.mutable_data()} {}

  static ValuesPerEvent values_of(const BlockRandom& block, const Counts& counts) {
    if (const auto* n = std::get_if<std::size_t>(&counts)) {
      return ValuesPerEvent{*n};
    }
    const auto& offsets = std::get<Array<std::int64_t>>(counts);
    const std::span given{offsets.data(), static_cast<std::size_t>(offsets.size())};
    if (given.size() != block.n_events() + 1 || given.front() != 0 ||
        !std::ranges::is_sorted(given)) {
      throw Error("offsets must begin with 0 and not decrease; there must be one more than events");
    }
    return ValuesPerEvent{given};
  }

  ValuesPerEvent values;
  std::size_t n_values;
  Array<T> array;
  T* into;
};

/// Methods of BlockRandom as functions of arrays. The GIL is released while they run.
template <typename T, typename P, auto method>
py::array_t<T> draw_of_one(BlockRandom& block, const Counts& counts, const Array<P>& given) {
  Draw<T> draw{block, counts};
  const auto value = parameter(given, draw.n_values);
  {
    const py::gil_scoped_release release;
    (block.*method)(draw.values, value, draw.into);
  }
  return draw.array;
}

template <typename T, typename P, auto method>
py::array_t<T> draw_of_two(BlockRandom& block, const Counts& counts, const Array<P>& first,
                           const Array<P>& second) {
  Draw<T> draw{block, counts};
  const auto one = parameter(first, draw.n_values);
  const auto other = parameter(second, draw.n_values);
  {
    const py::gil_scoped_release release;
    (block.*method)(draw.values, one, other, draw.into);
  }
  return draw.array;
}

py::array_t<std::uint64_t> words(BlockRandom& block, const Counts& counts) {
  Draw<std::uint64_t> draw{block, counts};
  block.words(draw.values, draw.into);
  return draw.array;
}

py::array_t<std::uint64_t> words_of(BlockRandom& block, std::size_t event, std::size_t n) {
  if (event >= block.n_events()) {
    throw py::index_error("the block has " + counted(block.n_events(), "event") +
                          ", none of number " + std::to_string(event));
  }
  Array<std::uint64_t> array{static_cast<py::ssize_t>(n)};
  block.words_of(event, {array.mutable_data(), n});
  return array;
}

}  // namespace

void register_random(py::module_& module) {
  py::class_<BlockRandom>(
      module, "BlockRandom",
      R"(A stream of random words for each of some events. Each call draws `counts` values per event,
a number or the offsets of a jagged column, (n_events + 1,), and gives them flat: (n_values,).
Parameters: (1,) or (n_values,). Releases the GIL. Raises ValueError for parameters that mean
nothing.)")
      .def(py::init([](std::uint64_t seed, const std::string& name, std::uint32_t run,
                       std::uint32_t lumi, const Array<std::uint64_t>& events) {
             const std::span numbers{events.data(), static_cast<std::size_t>(events.size())};
             const LumiOfEvents of_all{run, lumi, numbers.size()};
             return BlockRandom{random_key(seed, name), std::span{&of_all, 1}, numbers};
           }),
           py::arg("seed"), py::arg("name"), py::arg("run"), py::arg("lumi"), py::arg("events"))
      .def_property_readonly("n_events", &BlockRandom::n_events)
      .def("uniform", &draw_of_two<double, double, &BlockRandom::uniform>, py::arg("counts"),
           py::arg("low"), py::arg("high"))
      .def("normal", &draw_of_two<double, double, &BlockRandom::normal>, py::arg("counts"),
           py::arg("location"), py::arg("scale"))
      .def("exponential", &draw_of_one<double, double, &BlockRandom::exponential>,
           py::arg("counts"), py::arg("scale"))
      .def("integers", &draw_of_two<std::int64_t, std::int64_t, &BlockRandom::integers>,
           py::arg("counts"), py::arg("low"), py::arg("high"))
      .def("poisson", &draw_of_one<std::int64_t, double, &BlockRandom::poisson>, py::arg("counts"),
           py::arg("mean"))
      .def("words", &words, py::arg("counts"))
      .def("words_of", &words_of, py::arg("event"), py::arg("n"),
           "The next n words of the event with this number in the block. Raises IndexError.");
}

}  // namespace forkrun::bindings
