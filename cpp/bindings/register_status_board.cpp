#include <array>
#include <string>

#include <forkrun/core/errors.hpp>
#include <forkrun/core/status_board.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// In the order of ChildState.
constexpr std::array state_names{"not_started", "starting", "processing",
                                 "finishing",   "done",     "failed"};

struct ChildStatus {
  std::string state;
  std::uint64_t n_events_done, n_units_done, unit;
  std::uint32_t run, lumi;
  std::uint64_t first_event, last_event;
  std::int64_t heartbeat_ns;
};

StatusSlot& slot_of(StatusBoard& board, std::size_t child) {
  if (child >= board.size()) {
    throw py::index_error("there is no child " + std::to_string(child));
  }
  return board[child];
}

ChildStatus read(StatusBoard& board, std::size_t child) {
  const auto& slot = slot_of(board, child);
  return {state_names.at(slot.state),
          slot.n_events_done,
          slot.n_units_done,
          slot.unit,
          slot.run,
          slot.lumi,
          slot.first_event,
          slot.last_event,
          slot.heartbeat_ns};
}

void set_state(StatusBoard& board, std::size_t child, const std::string& state) {
  for (std::uint32_t i = 0; i < state_names.size(); ++i) {
    if (state == state_names[i]) {
      slot_of(board, child).state = i;
      return;
    }
  }
  throw Error("there is no child state \"" + state + "\"");
}

}  // namespace

void register_status_board(py::module_& module) {
  py::class_<ChildStatus>(module, "ChildStatus")
      .def_readonly("state", &ChildStatus::state)
      .def_readonly("n_events_done", &ChildStatus::n_events_done)
      .def_readonly("n_units_done", &ChildStatus::n_units_done)
      .def_readonly("unit", &ChildStatus::unit)
      .def_readonly("run", &ChildStatus::run)
      .def_readonly("lumi", &ChildStatus::lumi)
      .def_readonly("first_event", &ChildStatus::first_event)
      .def_readonly("last_event", &ChildStatus::last_event)
      .def_readonly("heartbeat_ns", &ChildStatus::heartbeat_ns);
  py::class_<StatusBoard>(module, "StatusBoard")
      .def(py::init<std::size_t>(), py::arg("n_children"))
      .def("__len__", &StatusBoard::size)
      .def("read", &read, py::arg("child"))
      .def("set_state", &set_state, py::arg("child"), py::arg("state"));
}

}  // namespace forkrun::bindings
