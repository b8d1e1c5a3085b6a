#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/core/run/recorder.hpp>
#include <forkrun/core/run/unit_steps.hpp>
#include <forkrun/core/schedule/schedule.hpp>
#include <forkrun/process/status_board.hpp>

namespace forkrun {

enum class ExecutorKind : std::uint8_t { serial, tbb, dispatch };

struct ProcessorConfig {
  ExecutorKind executor = ExecutorKind::serial;
  std::size_t threads = 1;            ///< 1 for serial
  std::size_t concurrent_blocks = 1;  ///< lanes; 1 for serial
  std::size_t block_size = 0;         ///< events; 0: the source chooses
  bool always_tasks = false;          ///< even where plain calls are faster: for tests and studies
  bool records = false;               ///< calls of modules: see `recorder`
  std::size_t n_trace_calls = 0;      ///< number of calls recorded one by one
  std::size_t concurrent_units = 1;   ///< largest number in flight; 1 for serial
  std::size_t concurrent_iovs = 1;    ///< largest number that units in flight belong to
  Recorder::OnCall on_call{};         ///< if it records; may be empty
  bool reads_ahead = false;  ///< on one more thread: see ReadAheadLane; with one lane, not serial
};

/// Drives blocks of events through a compiled schedule. Made in the child: starts threads.
class Processor {
 public:
  /// `status` may be null.
  Processor(Schedule& schedule, Source& source, ProcessorConfig config, StatusSlot* status);
  ~Processor();

  /// Processes units until `next` gives none. Calls begin and end of runs, lumis and IOVs as they
  /// change, closes the outputs of each unit and has it committed, one unit after another; units
  /// after the committing unit may be in flight already.
  ///
  /// Both functions are called on any thread, `commit` by one at a time and in the order of the
  /// units, `next` by one at a time, when a thread is free for the unit; where modules have
  /// Transitions, before the `commit` of the unit before. All blocks have ended when this returns
  /// or throws.
  /// \throws Error with module label, (run, lumi, events first…last of the block) and cause, or the
  /// exception of `next` or `commit`. The outputs of that unit are then abandoned, outputs of later
  /// units were never opened; units before it are committed. \throws Stopped, likewise, if the
  /// status has the order to end after the present block and blocks are left.
  void run(const NextUnit& next, const CommitUnit& commit);
  /// From any thread, also in `next` and `commit`: `run` returns when the committing unit has
  /// ended.
  void stop();

  /// Runs one unit; the lumi, run and IOV stay open. `outputs`: path of the temporary file by
  /// output label.
  UnitResult process(const UnitOfWork& unit, const std::map<std::string, std::string>& outputs);
  /// Ends the open lumi, run and IOV.
  void finish();

  /// Record, readable between runs; null if nothing is recorded. Nodes are those of the schedule's
  /// graph.
  [[nodiscard]] const Recorder* recorder() const;
  [[nodiscard]] const Graph& graph() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forkrun
