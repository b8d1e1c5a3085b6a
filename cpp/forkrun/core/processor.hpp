#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/core/recorder.hpp>
#include <forkrun/core/schedule.hpp>
#include <forkrun/core/source.hpp>
#include <forkrun/core/status_board.hpp>
#include <forkrun/core/unit_of_work.hpp>

namespace forkrun {

enum class ExecutorKind : std::uint8_t { serial, tbb, dispatch, thread };

struct ProcessorConfig {
  ExecutorKind executor = ExecutorKind::serial;
  std::size_t threads = 1;            ///< 1 for serial
  std::size_t concurrent_blocks = 1;  ///< lanes; 1 for serial
  std::size_t block_size = 0;         ///< events; 0: the source chooses
  bool always_tasks = false;          ///< also where plain calls are quicker: for tests and studies
  bool records = false;               ///< when modules are called: see `recorder`
  std::size_t n_trace_calls = 0;      ///< of so many calls one by one
  Recorder::OnCall on_call{};         ///< if it records; may be empty
};

/// Drives blocks of events through a compiled schedule. Made in the child: starts threads.
class Processor {
 public:
  /// `status` may be null.
  Processor(Schedule& schedule, Source& source, ProcessorConfig config, StatusSlot* status);
  ~Processor();

  /// Processes all events of a unit and closes its outputs; sends begin/end of run and lumi as
  /// they change from the unit before. `outputs`: path of the temporary file by output label.
  /// All blocks of the unit have ended when this returns or throws.
  /// \throws Error with module label, (run, lumi, events first…last of the block) and cause; the
  /// outputs of the unit are then abandoned. \throws Stopped, likewise, if the status has the order
  /// to end after the present block and blocks are left.
  UnitResult process(const UnitOfWork& unit, const std::map<std::string, std::string>& outputs);

  /// Ends the open lumi and run.
  void finish();

  /// What was recorded, between units; null if nothing is. Nodes are those of the schedule's graph.
  [[nodiscard]] const Recorder* recorder() const;
  [[nodiscard]] const Graph& graph() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forkrun
