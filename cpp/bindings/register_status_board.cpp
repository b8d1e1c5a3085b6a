#include <algorithm>
#include <array>
#include <string>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/process/child_signals.hpp>
#include <forkrun/process/status_board.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// In the order of ChildState.
constexpr std::array state_names{"not_started", "starting", "processing",
                                 "finishing",   "done",     "failed"};

/// In the order of Order.
constexpr std::array order_names{"proceed", "end_after_unit", "end_after_block"};

struct ChildStatus {
  std::string state, order;
  std::uint64_t n_events_done, n_units_done, unit;
  std::uint32_t run, lumi;
  std::uint64_t first_event, last_event;
  std::int64_t heartbeat_ns;
  bool crashed_elsewhere;
  std::uint64_t n_calls, calls_ns, fixed_ns;
  std::uint64_t kept_per_event_bytes;
  std::uint32_t kept_by;
};

StatusSlot& slot_of(StatusBoard& board, std::size_t child) {
  if (child >= board.size()) {
    throw py::index_error("unknown child " + std::to_string(child));
  }
  return board[child];
}

ChildStatus read(StatusBoard& board, std::size_t child) {
  const auto& slot = slot_of(board, child);
  return {state_names.at(slot.state),
          order_names.at(slot.order),
          slot.n_events_done,
          slot.n_units_done,
          slot.unit,
          slot.run,
          slot.lumi,
          slot.first_event,
          slot.last_event,
          slot.heartbeat_ns,
          slot.crashed_elsewhere,
          slot.n_calls,
          slot.calls_ns,
          slot.fixed_ns,
          slot.kept_per_event_bytes,
          slot.kept_by};
}

template <class Names>
std::uint32_t number_of(const Names& names, const std::string& name) {
  const auto place = std::ranges::find(names, name);
  if (place == names.end()) {
    throw Error("unknown child state or order \"" + name + "\"");
  }
  return static_cast<std::uint32_t>(place - names.begin());
}

void set_state(StatusBoard& board, std::size_t child, const std::string& state) {
  slot_of(board, child).state = number_of(state_names, state);
}

void give_order(StatusBoard& board, std::size_t child, const std::string& order) {
  slot_of(board, child).order = number_of(order_names, order);
}

/// For a new child in place of one that has ended.
void reset(StatusBoard& board, std::size_t child, std::uint64_t n_events_done) {
  auto& slot = slot_of(board, child);
  slot.order = 0;
  slot.state = 0;
  slot.heartbeat_ns = 0;
  slot.crashed_elsewhere = false;
  slot.n_events_done = n_events_done;
  slot.kept_per_event_bytes = 0;
  slot.kept_by = 0;
}

void obey(StatusBoard& board, std::size_t child, int parent) {
  auto& slot = slot_of(board, child);
  obey_only(parent, slot.order);
  note_crashes(slot.crashed_elsewhere);
}

void beat(StatusBoard& board, std::size_t child) { note_heartbeat(slot_of(board, child)); }

/// Adds to the calls of children before it in the same place as well.
void add_calls(StatusBoard& board, std::size_t child, std::uint64_t n_calls, double calls_s,
               double fixed_s) {
  constexpr double ns_per_s = 1e9;
  auto& slot = slot_of(board, child);
  slot.n_calls += n_calls;
  slot.calls_ns += static_cast<std::uint64_t>(std::max(calls_s, 0.0) * ns_per_s);
  slot.fixed_ns += static_cast<std::uint64_t>(std::max(fixed_s, 0.0) * ns_per_s);
}

void note_kept(StatusBoard& board, std::size_t child, std::uint32_t module,
               std::uint64_t per_event_bytes) {
  auto& slot = slot_of(board, child);
  slot.kept_by = module;
  slot.kept_per_event_bytes = per_event_bytes;
}

}  // namespace

void register_status_board(py::module_& module) {
  py::class_<ChildStatus>(module, "ChildStatus")
      .def_readonly("state", &ChildStatus::state)
      .def_readonly("order", &ChildStatus::order)
      .def_readonly("n_events_done", &ChildStatus::n_events_done)
      .def_readonly("n_units_done", &ChildStatus::n_units_done)
      .def_readonly("unit", &ChildStatus::unit)
      .def_readonly("run", &ChildStatus::run)
      .def_readonly("lumi", &ChildStatus::lumi)
      .def_readonly("first_event", &ChildStatus::first_event)
      .def_readonly("last_event", &ChildStatus::last_event)
      .def_readonly("heartbeat_ns", &ChildStatus::heartbeat_ns)
      .def_readonly("crashed_elsewhere", &ChildStatus::crashed_elsewhere,
                    "Whether a thread other than the process's first has crashed.")
      .def_readonly("n_calls", &ChildStatus::n_calls)
      .def_readonly("calls_ns", &ChildStatus::calls_ns)
      .def_readonly("fixed_ns", &ChildStatus::fixed_ns)
      .def_readonly("kept_per_event_bytes", &ChildStatus::kept_per_event_bytes)
      .def_readonly("kept_by", &ChildStatus::kept_by);
  py::class_<StatusBoard>(module, "StatusBoard",
                          "Shared memory: one row per child. Make it before the fork.")
      .def(py::init<std::size_t>(), py::arg("n_children"))
      .def("__len__", &StatusBoard::size)
      .def("read", &read, py::arg("child"))
      .def("set_state", &set_state, py::arg("child"), py::arg("state"))
      .def("give_order", &give_order, py::arg("child"), py::arg("order"))
      .def("reset", &reset, py::arg("child"), py::arg("n_events_done"),
           "For a new child in place of one that has ended.")
      .def("obey_only", &obey, py::arg("child"), py::arg("parent"),
           R"(In the child: signals of others than its parent are ignored; SIGTERM of the parent is
the order to end after the present block.)")
      .def(
          "add_calls", &add_calls, py::arg("child"), py::arg("n_calls"), py::arg("calls_s"),
          py::arg("fixed_s"),
          R"(In the child: calls of blocks, their CPU time, and the part of it that does not depend on
the number of events.)")
      .def(
          "note_kept", &note_kept, py::arg("child"), py::arg("module"), py::arg("per_event_bytes"),
          R"(In the child: number of the module in Python that keeps most memory, from 1 on, and how
much of each event.)")
      .def("beat", &beat, py::arg("child"), "In the child: it is alive.");
}

}  // namespace forkrun::bindings
