#pragma once

#include <cstdint>
#include <limits>

namespace forkrun {

class ReadyTasks;

/// A step to execute once it is ready. Owned by its maker; lists, queues and executors only link
/// it, so that scheduling allocates nothing. A task is in at most one of them at a time.
class Task {
 public:
  virtual ~Task() = default;

  /// May be called again when the task is ready again. Tasks that become ready here are pushed to
  /// `ready`, never executed by recursion.
  virtual void execute(ReadyTasks& ready) noexcept = 0;

  /// A task that waits on a thread's stack (`ReadyTasks::work_until`) lets only tasks of lower rank
  /// run above it. Tasks that end without waiting for others have rank 0. Tasks of rank `at_once`
  /// are short, and executed by the pushing thread.
  using Rank = std::uint32_t;
  static constexpr Rank any_rank = std::numeric_limits<Rank>::max();
  static constexpr Rank at_once = any_rank;
  [[nodiscard]] Rank rank() const { return rank_; }

 protected:
  void set_rank(Rank rank) { rank_ = rank; }

 private:
  friend class SerialTaskQueue;
  friend class LimitedTaskQueue;
  friend class TaskChain;
  Task* next_{};
  Rank rank_{};
};

}  // namespace forkrun
