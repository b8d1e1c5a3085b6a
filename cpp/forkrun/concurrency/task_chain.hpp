#pragma once

#include <forkrun/concurrency/ready_tasks.hpp>
#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// Tasks that have become ready, kept until they can be pushed.
class TaskChain {
 public:
  /// `task` may be null.
  void add(Task* task) {
    if (task != nullptr) {
      task->next_ = first_;
      first_ = task;
    }
  }
  void push_to(ReadyTasks& ready) {
    while (first_ != nullptr) {
      Task* const task = first_;
      first_ = task->next_;
      ready.push(*task);
    }
  }

 private:
  Task* first_{};
};

}  // namespace forkrun
