#pragma once

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// The tasks that have become ready on one thread. The last one is executed next, right here and
/// without going through a queue; the others are handed to the executor's other threads, if any.
class ReadyTasks {
 public:
  explicit ReadyTasks(Executor& executor)
      : executor_{executor}, alone_{executor.n_threads() == 1} {}

  void push(Task& task) {
    if (top_ != nullptr && !alone_) {
      executor_.submit(*top_);
      top_ = nullptr;
    }
    task.next_ = top_;
    top_ = &task;
  }

  /// Executes `first` and what becomes ready by it, until nothing is left on this thread.
  void run(Task& first) {
    push(first);
    while (top_ != nullptr) {
      Task& task = *top_;
      top_ = task.next_;
      task.execute(*this);
    }
  }

 private:
  Executor& executor_;
  const bool alone_;
  Task* top_{};
};

}  // namespace forkrun
