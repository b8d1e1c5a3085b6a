#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/core/run/announcer.hpp>
#include <forkrun/core/run/recorder.hpp>
#include <forkrun/core/run/unit_in_flight.hpp>
#include <forkrun/core/schedule/schedule.hpp>
#include <forkrun/process/status_board.hpp>

namespace forkrun {

/// Returns the next unit; none: there are no more.
using NextUnit = std::function<std::optional<UnitToDo>()>;
/// Takes over a finished unit: its outputs are closed, its histograms have its content.
using CommitUnit = std::function<void(const UnitOfWork&, const UnitResult&)>;

/// Whether the last lumi, run and IOV end or stay open when there are no more units.
enum class LastEnds : std::uint8_t { called, left_open };

/// The steps between units, the same for all loops. For each unit, in this order:
///
///     take ─▶ begin ─▶ its blocks ─▶ end ─▶ close ─▶ commit or abandon
///
/// `take` may come for the next unit at any time after the `take` of this one, at the same time as
/// any other step; with Transitions, before the `end`, which needs to know the next unit. All other
/// steps are for one unit after another. Their exceptions are failures of the unit.
class UnitSteps {
 public:
  UnitSteps(Schedule& schedule, Announcer& announcer, const Source& source, std::size_t block_size,
            StatusSlot* status);
  ~UnitSteps();

  /// Has closing and committing recorded there.
  void record(Recorder& recorder) { recorder_ = &recorder; }
  /// Before the first `take`.
  void start(const NextUnit& next, const CommitUnit& commit, LastEnds last_ends);

  /// False if there are no more, a stop was requested, or the caller has failed.
  [[nodiscard]] bool take(UnitInFlight& unit);
  /// Calls the begin callbacks of the runs, lumis and IOVs that begin, and opens outputs.
  void begin(UnitInFlight& unit);
  /// Whether to take the next unit before the `end` of one.
  [[nodiscard]] bool must_know_next() const;
  /// Calls the callbacks of lumis of the unit that modules have not reached, then all end
  /// callbacks, or with `next` only those of runs, lumis and IOVs that do not continue there; null:
  /// there is none.
  void end(UnitInFlight& unit, const UnitInFlight* next);
  void close(UnitInFlight& unit, Parallel& parallel);
  void commit(UnitInFlight& unit);

  /// Stops taking and committing, except the unit that has begun. From any thread.
  void stop() { is_stopped_ = true; }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }
  /// \throws the caller's exception at taking a unit
  void rethrow_failure();
  /// Calls all remaining end callbacks.
  void finish() { announcer_.end_before(nullptr); }

 private:
  class OpenOutputs;
  void check_outputs(const UnitInFlight& unit) const;
  template <typename Act>
  void note_committing(const UnitOfWork& unit, const Act& act);
  void note_begin(const UnitOfWork& unit);
  void note_end(UnitResult& result) const;

  Schedule& schedule_;
  const Source& source_;
  std::size_t block_size_;
  StatusSlot* status_;
  Recorder* recorder_{};  ///< null: nothing is noted
  Announcer& announcer_;
  std::unique_ptr<OpenOutputs> outputs_;
  const NextUnit* next_{};
  const CommitUnit* commit_{};
  LastEnds last_ends_{};
  BlockList blocks_;            ///< of `take`
  std::exception_ptr failure_;  ///< of `take`
  std::atomic<bool> is_stopped_{};
  std::chrono::steady_clock::time_point begin_{};
  std::int64_t cpu_begin_ns_{};
};

}  // namespace forkrun
