#pragma once

#include <cstddef>
#include <mutex>

#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// Lets at most `limit` tasks at a time use a resource, in the order of their arrival, without
/// holding a thread:
///
///     if (!queue.enter(task)) return;        // comes back, admitted, when `leave` returns it
///     …
///     if (Task* next = queue.leave()) ready.push(*next);
class LimitedTaskQueue {
 public:
  explicit LimitedTaskQueue(std::size_t limit) : n_free_{limit} {}

  /// True if the task is admitted at once. Else it is kept until a `leave` returns it.
  [[nodiscard]] bool enter(Task& task) {
    const std::scoped_lock lock{mutex_};
    if (n_free_ != 0) {
      --n_free_;
      return true;
    }
    task.next_ = nullptr;
    (last_ == nullptr ? first_ : last_->next_) = &task;
    last_ = &task;
    return false;
  }

  /// Called once by an admitted task. Returns the next admitted task, to be executed, or null.
  [[nodiscard]] Task* leave() {
    const std::scoped_lock lock{mutex_};
    if (first_ == nullptr) {
      ++n_free_;
      return nullptr;
    }
    Task* const next = first_;
    first_ = next->next_;
    last_ = first_ == nullptr ? nullptr : last_;
    return next;
  }

 private:
  std::mutex mutex_;  ///< held for a few instructions; contended only by more than `limit` threads
  std::size_t n_free_;
  Task* first_{};
  Task* last_{};
};

}  // namespace forkrun
