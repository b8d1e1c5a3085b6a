#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <forkrun/concurrency/task.hpp>
#include <forkrun/concurrency/task_chain.hpp>
#include <forkrun/core/run/block_loop.hpp>
#include <forkrun/core/run/unit_in_flight.hpp>
#include <forkrun/core/run/unit_tasks.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// Units in flight, and the lanes that work on them. The first is the **committing unit**; lanes
/// that find no more blocks of it run ahead into the next ones:
///
///     lane is free ─▶ a block of the first unit that has some left
///                  ─▶ else, as long as fewer units than allowed are in flight: asks for the next
///                  ─▶ else is idle until there is something
///     last lane has left the committing unit
///                  ─▶ if modules have Transitions, waits for the next unit (requests it, if
///                  not known) ─▶ end callbacks ─▶ outputs are closed ─▶ commit
///                  ─▶ waits for the next unit, which becomes the committing unit: begin callbacks
///                  ─▶ outputs are opened ─▶ tasks waiting for its turn are resumed
///
/// Analyzers, outputs and modules with Transitions wait until their unit is the committing one
/// before they are called (`Node::waits_to_commit`), holding nothing; so do modules that may
/// request their products. All others run ahead. So waiting modules see one unit after another, and
/// nothing of a later unit can hold up the committing unit.
///
/// The steps between units are a task like a module: it waits in the queues that it shares with
/// modules that run ahead. After a failure of a unit, or a request to stop, later units are
/// dropped: each becomes the committing unit, but nothing more is called for it.
class UnitSequence {
 public:
  UnitSequence(UnitTasks& tasks, UnitLimits limits);

  /// Requests the first unit. If there is one, its task must be run after `lanes`, which will
  /// request blocks, are given; all units have ended when no task is left.
  [[nodiscard]] Task* start(UnitSteps& steps, const std::vector<Task*>& lanes);
  /// After the end. \throws the first failure
  void rethrow_failure();

  /// A unit that may have blocks left; null: the lane's task is pushed when there may be one.
  [[nodiscard]] UnitInFlight* enter(Task& lane, ReadyTasks& ready);
  /// For a single lane, at the last block of its unit: its next unit, requested now if allowed.
  /// Null if it is not known before this one has ended.
  [[nodiscard]] const UnitInFlight* find_ahead();
  /// For a lane that found no more blocks. Null, or a task more urgent than the next unit.
  [[nodiscard]] Task* leave(UnitInFlight& unit, const Lane::Share& share);

 private:
  enum class Stage : std::uint8_t { know_next, end, close, commit, advance, begin, resume_waiting };
  using Lock = std::unique_lock<std::mutex>;

  /// Task of the steps between units.
  class BetweenUnits final : public Task {
   public:
    explicit BetweenUnits(UnitSequence& sequence) : sequence_{sequence} {}
    void execute(ReadyTasks& ready) noexcept override { sequence_.proceed(ready); }

   private:
    UnitSequence& sequence_;
  };

  // With the lock held.
  [[nodiscard]] UnitInFlight* find_unit() const;
  [[nodiscard]] bool may_ask() const;
  void ask(Lock& lock);
  [[nodiscard]] bool is_at_end() const;
  void wake_lanes(ReadyTasks& ready);

  // Between units
  void proceed(ReadyTasks& ready);
  [[nodiscard]] bool enter_queues();
  void leave_queues(ReadyTasks& ready);
  [[nodiscard]] const std::vector<ModuleQueue*>& queues() const;
  [[nodiscard]] bool do_stage(ReadyTasks& ready);
  [[nodiscard]] bool know_next(ReadyTasks& ready);
  [[nodiscard]] bool is_next_known(Lock& lock, ReadyTasks& ready);
  void end_unit();
  [[nodiscard]] bool advance(ReadyTasks& ready);
  void begin_unit(ReadyTasks& ready);
  [[nodiscard]] bool resume_waiting(ReadyTasks& ready);

  UnitTasks& tasks_;
  UnitLimits limits_;
  UnitSteps* steps_{};
  BetweenUnits between_{*this};
  std::vector<ModuleQueue*> no_queues_, transition_queues_, output_queues_, all_queues_;
  Stage stage_{};            ///< of `between_`
  UnitInFlight* current_{};  ///< the unit of the stage
  std::size_t n_entered_{};  ///< queues of the stage
  std::exception_ptr failure_;

  std::mutex mutex_;  ///< for all members below; held for a few instructions
  std::vector<std::unique_ptr<UnitInFlight>> free_;
  std::deque<std::unique_ptr<UnitInFlight>> known_;  ///< the first: the committing unit
  std::vector<Task*> idle_;                          ///< lanes
  bool is_between_{};                                ///< between units: `between_` is under way
  bool is_asking_{};
  bool waits_for_answer_{};  ///< `between_` waits for another lane's answer
  bool is_over_{};           ///< no more units are requested
};

}  // namespace forkrun
