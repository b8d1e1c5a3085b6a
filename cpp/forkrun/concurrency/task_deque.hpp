#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include <forkrun/concurrency/biased_lock.hpp>
#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// The ready tasks of one thread: it takes the last one; threads that help take the first.
class TaskDeque {
 public:
  TaskDeque() { tasks_.reserve(64); }

  // By the owner.

  void push(Task& task) {
    lock_.enter_as_owner();
    tasks_.push_back(&task);
    set_size(size() + 1);
    lock_.leave_as_owner();
  }

  /// The last one of a rank below `limit`, or null.
  [[nodiscard]] Task* pop(Task::Rank limit = Task::any_rank) {
    if (size() == 0) {  // Others only take away.
      return nullptr;
    }
    lock_.enter_as_owner();
    Task* const task = size() == 0 ? nullptr : take_last(limit);
    lock_.leave_as_owner();
    return task;
  }

  /// The first one, or null.
  [[nodiscard]] Task* pop_first() {
    lock_.enter_as_owner();
    Task* const task = take_first(Task::any_rank);
    lock_.leave_as_owner();
    return task;
  }

  /// Whether the owner has signalled that there is something to take.
  [[nodiscard]] bool is_advertised() const { return advertised_.load(std::memory_order_relaxed); }
  void set_advertised() { advertised_.store(true, std::memory_order_relaxed); }

  // By any thread.

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  enum class Found : unsigned char { task, nothing, busy };
  struct Stolen {
    Found found{};
    Task* task{};
  };
  /// Takes the first one, if its rank is below `limit`. If there is none at all the deque is not
  /// advertised any more.
  [[nodiscard]] Stolen steal(Task::Rank limit) {
    if (!lock_.try_enter_as_visitor()) {
      return {Found::busy, nullptr};
    }
    Task* const task = take_first(limit);
    if (size() == 0 && task == nullptr) {
      advertised_.store(false, std::memory_order_relaxed);  // Ordered by the lock.
    }
    lock_.leave_as_visitor();
    return {task == nullptr ? Found::nothing : Found::task, task};
  }

 private:
  void set_size(std::size_t size) { size_.store(size, std::memory_order_relaxed); }

  Task* take_last(Task::Rank limit) {
    for (auto at = tasks_.size(); at > first_; --at) {
      Task* const task = tasks_[at - 1];
      if (task->rank() < limit) {
        tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(at) - 1);
        note_taken();
        return task;
      }
    }
    return nullptr;
  }

  Task* take_first(Task::Rank limit) {
    if (size() == 0 || tasks_[first_]->rank() >= limit) {
      return nullptr;
    }
    Task* const task = tasks_[first_++];
    note_taken();
    return task;
  }

  void note_taken() {
    set_size(size() - 1);
    if (size() == 0) {
      tasks_.clear();
      first_ = 0;
    }
  }

  BiasedLock lock_;
  std::atomic<bool> advertised_{};
  std::atomic<std::size_t> size_{};  ///< tasks_.size() - first_
  std::size_t first_{};              ///< those before it were taken
  std::vector<Task*> tasks_;
};

}  // namespace forkrun
