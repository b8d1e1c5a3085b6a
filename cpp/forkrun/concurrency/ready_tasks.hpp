#pragma once

#include <atomic>
#include <cstdint>

#include <forkrun/concurrency/task.hpp>
#include <forkrun/concurrency/task_deque.hpp>

namespace forkrun {

class Team;

/// Ready tasks of one thread of an executor. The task pushed last is executed next, on the same
/// thread and without a common queue; the others wait here for idle threads.
class ReadyTasks {
 public:
  explicit ReadyTasks(Team& team, std::uint32_t number) : team_{team}, number_{number} {}

  void push(Task& task) {
    if (task.rank() == Task::at_once) [[unlikely]] {
      task.execute(*this);
    } else {
      deque_.push(task);
    }
  }

  /// In the middle of a long task: lets others take pushed tasks.
  void share();

  /// Null on threads that execute no tasks.
  [[nodiscard]] static ReadyTasks* of_this_thread();
  /// For a thread that continues in place of another, which waits for it meanwhile.
  static void set_of_this_thread(ReadyTasks* ready);

  /// Counts a task: shows the length of tasks on this thread.
  void note_progress() {
    // Only one writer: no need for a locked instruction.
    n_executed_.store(n_executed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Task that ends a wait of this thread; push it, or have it pushed, anywhere.
  class Wakeup;
  /// In the middle of a task: executes other tasks of a rank below `limit` until `wakeup` has been
  /// executed. Lower ranks only: else a task might wait above us, on our stack, for our own result.
  /// Tasks that never wait like this have rank 0, and may be executed above any other; the ranks of
  /// the rest grow along their dependencies. So the lowest waiting task, on any stack, is on top of
  /// its stack and waits for something that is running, ready for one of the waiting threads, or
  /// outside: there is always progress.
  void work_until(Wakeup& wakeup, Task::Rank limit);

  [[nodiscard]] Team& team() const { return team_; }
  /// Number of the thread in its executor, from 0.
  [[nodiscard]] std::uint32_t number() const { return number_; }

 private:
  friend class Team;
  Team& team_;
  std::uint32_t number_;
  TaskDeque deque_;
  std::atomic<std::uint64_t> n_executed_{};
};

}  // namespace forkrun
