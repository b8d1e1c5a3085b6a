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
#include <forkrun/core/run/unit_in_work.hpp>
#include <forkrun/core/run/unit_tasks.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// Which units are in work, and which lanes work on them. The first of them has **the turn**; lanes
/// that find no more blocks of it run ahead into those behind it:
///
///     lane is free ─▶ a block of the first unit that has some left
///                  ─▶ else, as long as fewer units than allowed are in work: asks for the next
///                  ─▶ else is idle until there is something
///     last lane has left the unit that has the turn
///                  ─▶ if modules are told, what comes next is known (asks, where nobody has)
///                  ─▶ end messages ─▶ outputs are closed ─▶ commit
///                  ─▶ what comes next is known ─▶ the next has the turn: begin messages ─▶ outputs
///                  are opened ─▶ turn is told
///
/// Analyzers, outputs and modules with Transitions wait for the turn of their unit before they
/// are called (`Node::in_turn`), holding nothing; so do modules that ask for what such modules
/// make. All others run ahead. So whoever is in turn sees one unit after another, and nothing of a
/// unit ahead can hold up the one that has the turn.
///
/// What is done between units is a task like a module: it waits in the queues that it shares with
/// modules that run ahead. When a unit has failed, or a stop is wished, those behind it are
/// dropped: they get the turn, but nothing more is called for them.
class UnitSequence {
 public:
  UnitSequence(UnitTasks& tasks, UnitLimits limits);

  /// Asks for the first unit. Where there is one its task is to be executed, after `lanes`, which
  /// will ask for blocks, have been given; when nothing is left to be executed all units have
  /// ended.
  [[nodiscard]] Task* start(UnitSteps& steps, const std::vector<Task*>& lanes);
  /// After the end. \throws the first failure
  void rethrow_failure();

  /// A unit that may have blocks left; null: the lane's task is pushed when there may be one.
  [[nodiscard]] UnitInWork* enter(Task& lane, ReadyTasks& ready);
  /// By a lane that found no more blocks. Null, or what is more urgent than going on.
  [[nodiscard]] Task* leave(UnitInWork& unit, const Lane::Share& share);

 private:
  enum class Stage : std::uint8_t { know_next, end, close, commit, advance, begin, tell_turn };
  using Lock = std::unique_lock<std::mutex>;

  /// What is done between units.
  class BetweenUnits final : public Task {
   public:
    explicit BetweenUnits(UnitSequence& sequence) : sequence_{sequence} {}
    void execute(ReadyTasks& ready) noexcept override { sequence_.go_on(ready); }

   private:
    UnitSequence& sequence_;
  };

  // With the lock held.
  [[nodiscard]] UnitInWork* find_unit() const;
  [[nodiscard]] bool may_ask() const;
  void ask(Lock& lock);
  [[nodiscard]] bool is_at_end() const;
  void wake_lanes(ReadyTasks& ready);

  // Between units
  void go_on(ReadyTasks& ready);
  [[nodiscard]] bool enter_queues();
  void leave_queues(ReadyTasks& ready);
  [[nodiscard]] const std::vector<ModuleQueue*>& queues() const;
  [[nodiscard]] bool do_stage(ReadyTasks& ready);
  [[nodiscard]] bool know_next(ReadyTasks& ready);
  [[nodiscard]] bool is_next_known(Lock& lock, ReadyTasks& ready);
  void end_unit();
  [[nodiscard]] bool advance(ReadyTasks& ready);
  void begin_unit(ReadyTasks& ready);
  [[nodiscard]] bool tell_turn(ReadyTasks& ready);

  UnitTasks& tasks_;
  UnitLimits limits_;
  UnitSteps* steps_{};
  BetweenUnits between_{*this};
  std::vector<ModuleQueue*> no_queues_, told_queues_, output_queues_, all_queues_;
  Stage stage_{};            ///< of `between_`
  UnitInWork* current_{};    ///< that it is about
  std::size_t n_entered_{};  ///< queues of the stage
  std::exception_ptr failure_;

  std::mutex mutex_;  ///< of all below; held for some instructions
  std::vector<std::unique_ptr<UnitInWork>> free_;
  std::deque<std::unique_ptr<UnitInWork>> known_;  ///< the first has the turn
  std::vector<Task*> idle_;                        ///< lanes
  bool is_between_{};                              ///< units: `between_` is under way
  bool is_asking_{};
  bool waits_for_answer_{};  ///< `between_`, for somebody else's
  bool is_over_{};           ///< nothing more is asked for
};

}  // namespace forkrun
