#pragma once

#include <cstdint>
#include <limits>

namespace forkrun {

class ReadyTasks;

/// Something to be executed once it is ready. Owned by its maker; lists, queues and executors
/// only link it, so that scheduling allocates nothing. A task is in at most one of them at a time.
class Task {
 public:
  virtual ~Task() = default;

  /// May be called again after it has been made ready again. What becomes ready through this is
  /// pushed to `ready`, never executed by recursion.
  virtual void execute(ReadyTasks& ready) noexcept = 0;

  /// What waits on a thread's stack (`ReadyTasks::work_until`) lets only tasks of lower rank be
  /// executed above it. Tasks that end without waiting for others have rank 0.
  /// Those of rank `at_once` are short, and executed by the thread that pushes them.
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
