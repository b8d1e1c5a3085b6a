#pragma once

namespace forkrun {

class ReadyTasks;

/// Something to be executed once it is ready. Owned by whoever made it; lists, queues and executors
/// only link it, so that scheduling allocates nothing. A task is in at most one of them at a time.
class Task {
 public:
  virtual ~Task() = default;

  /// May be called again after it has been made ready again. What becomes ready through this is
  /// pushed to `ready`, never executed by recursion.
  virtual void execute(ReadyTasks& ready) noexcept = 0;

 private:
  friend class ReadyTasks;
  friend class SerialTaskQueue;
  Task* next_{};
};

}  // namespace forkrun
