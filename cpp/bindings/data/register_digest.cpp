#include <pybind11/numpy.h>
#include <pybind11/operators.h>

#include <forkrun/core/data/event_id.hpp>

#include "../bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using EventNumbers = py::array_t<std::uint64_t, py::array::c_style | py::array::forcecast>;

EventDigest sum_of(EventDigest first, const EventDigest& second) { return first += second; }

EventDigest subtract(EventDigest first, const EventDigest& second) { return first -= second; }

void add_events(EventDigest& digest, std::uint32_t run, std::uint32_t lumi,
                const EventNumbers& events) {
  digest.add(LumiId{run, lumi}, {events.data(), static_cast<std::size_t>(events.size())});
}

}  // namespace

void register_digest(py::module_& module) {
  py::class_<EventDigest>(
      module, "EventDigest",
      "Count and order-independent digest of a set of event ids; `a + b` is that of the union.")
      .def(py::init(&EventDigest::parse), py::arg("count") = 0,
           py::arg("hex") = std::string(32, '0'))
      .def_property_readonly("count", &EventDigest::count)
      .def_property_readonly("hex", &EventDigest::hex)
      .def("add", &add_events, py::arg("run"), py::arg("lumi"), py::arg("events"))
      .def("__add__", &sum_of, py::is_operator())
      .def("__sub__", &subtract, py::is_operator())
      .def(py::self == py::self)
      .def("__repr__", [](const EventDigest& digest) {
        return "EventDigest(" + std::to_string(digest.count()) + ", '" + digest.hex() + "')";
      });
}

}  // namespace forkrun::bindings
