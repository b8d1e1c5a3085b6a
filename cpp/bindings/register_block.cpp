#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/random/block_random.hpp>

#include "bindings.hpp"
#include "column_arrays.hpp"
#include "python/python_modules.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

const EventBlock& open(const PythonBlock& block) {
  if (block.block == nullptr) {
    throw Error(
        "this block is over: read and copy its columns while your module is called with it");
  }
  return *block.block;
}

/// Small enough to copy: these live in the lane, not in a column.
template <typename T, typename U>
py::array_t<T> copied(std::span<const U> values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()),
                        reinterpret_cast<const T*>(values.data()));
}

const Column& column(const PythonBlock& block, const std::string& name) {
  const auto& opened = open(block);
  const auto found = block.columns->consumed.find(name);
  if (found == block.columns->consumed.end()) {
    std::string names;
    for (const auto& [declared, product] : block.columns->consumed) {
      names += (names.empty() ? "" : ", ") + declared;
    }
    throw py::key_error("\"" + name + "\" is not in `consumes` of the module, which has: " + names);
  }
  return opened.column(found->second);
}

py::array_t<bool> mask(const PythonBlock& block) {
  const auto n_events = open(block).n_events();
  if (block.mask.size() != n_events) {  // not an analyzer: all events
    return py::module_::import("numpy").attr("ones")(n_events, py::arg("dtype") = "bool");
  }
  return copied<bool>(block.mask);
}

/// Whether the module is called with all events of the block.
bool has_all(const PythonBlock& block) {
  const auto& mask = block.mask;
  return mask.size() != open(block).n_events() || std::ranges::find(mask, 0) == mask.end();
}

BlockRandom random(const PythonBlock& block) {
  const auto& opened = open(block);
  std::vector<LumiOfEvents> lumis;
  opened.lumis().for_each(0, opened.n_events(), [&](LumiId lumi, std::size_t, std::size_t last) {
    lumis.push_back({lumi.run, lumi.lumi, last});
  });
  return {block.columns->random, lumis, opened.events()};
}

/// (run, lumi, first, last) of each lumi: events [first, last) of the block.
py::array_t<std::int64_t> lumi_spans(const PythonBlock& block) {
  const auto& opened = open(block);
  std::vector<std::int64_t> spans;
  opened.lumis().for_each(
      0, opened.n_events(), [&](LumiId lumi, std::size_t first, std::size_t last) {
        spans.insert(spans.end(), {lumi.run, lumi.lumi, static_cast<std::int64_t>(first),
                                   static_cast<std::int64_t>(last)});
      });
  const auto n_spans = static_cast<py::ssize_t>(spans.size() / 4);
  return py::array_t<std::int64_t>{{n_spans, py::ssize_t{4}}, spans.data()};
}

}  // namespace

void register_block(py::module_& module) {
  py::class_<PythonBlock, std::shared_ptr<PythonBlock>>(
      module, "Block",
      R"(Event block for a Python module. Arrays are read-only views of the core's memory
and stay valid as long as they are held.)")
      .def_property_readonly(
          "run", [](const PythonBlock& block) { return open(block).lumi().run; },
          "Error if the block has events of several lumis")
      .def_property_readonly("lumi",
                             [](const PythonBlock& block) { return open(block).lumi().lumi; })
      .def_property_readonly("n_lumis",
                             [](const PythonBlock& block) { return open(block).lumis().size(); })
      .def("lumi_spans", &lumi_spans,
           "(n_lumis, 4) run, lumi, first, last: events [first, last) of the block are of it.")
      .def_property_readonly("iov", [](const PythonBlock& block) { return open(block).iov(); })
      .def_property_readonly(
          "file", [](const PythonBlock& block) { return open(block).ranges().front().file; },
          "number of the input file")
      .def_property_readonly(
          "place",
          [](const PythonBlock& block) {
            const auto& first = open(block).ranges().front();
            return std::tuple{open(block).lane(), first.file, first.first};
          },
          "lane of the concurrent block; file and entry of its first event")
      .def_property_readonly("n_events",
                             [](const PythonBlock& block) { return open(block).n_events(); })
      .def_property_readonly(
          "events",
          [](const PythonBlock& block) { return copied<std::uint64_t>(open(block).events()); },
          "(n_events,) event numbers")
      .def_property_readonly("mask", &mask,
                             "(n_events,) events left by the filters before the module")
      .def_property_readonly("has_all", &has_all, "the module is called with all events")
      .def("random", &random,
           "Random numbers of the module for these events, from their beginning; a copy.")
      .def(
          "column",
          [](const PythonBlock& block, const std::string& name) {
            return arrays_of(column(block, name));
          },
          py::arg("name"),
          R"(A declared column: values, or (offsets, values) when jagged. KeyError names the
declared columns.)")
      .def(
          "column_left",
          [](PythonBlock& block, const std::string& name) {
            const auto& whole = column(block, name);
            if (!block.left) {
              block.left.emplace(block.mask);
            }
            return arrays_of(block.left->gather(whole));
          },
          py::arg("name"), "The same for the events in `mask`.");
}

}  // namespace forkrun::bindings
