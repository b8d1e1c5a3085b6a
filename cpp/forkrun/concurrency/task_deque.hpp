#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// Replaces memory barriers of the process's other threads: with the kernel's help a visitor issues
/// the barrier for all of them at once.
///
/// Two threads that each write a flag and then read the other's must both have a full barrier in
/// between, or both may miss the other's write. Where one side passes a hundred million times a
/// second and the other rarely, `heavy` on the rare side (a system call of some microseconds) makes
/// `light` free on the other: it only restrains the compiler.
class AsymmetricBarrier {
 public:
  /// Once per process, and again after a fork, before `light` and `heavy` are used.
  static void prepare();
  static void light() {
    if (is_free_) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  static void heavy();

 private:
  static bool is_free_;  ///< written while there is one thread
};

/// A lock for one owner, for whom it is almost free, and rare visitors, who pay a system call.
///
///     owner:   inside = true ─ light barrier ─ visited? then step back and wait ─ … ─ inside =
///     false visitor: visited = true ─ heavy barrier ─ wait until not inside ─ … ─ visited = false
class BiasedLock {
 public:
  void enter_as_owner() {
    inside_.store(true, std::memory_order_relaxed);
    AsymmetricBarrier::light();
    // Acquire: the owner sees the last visitor's writes.
    if (visited_.load(std::memory_order_acquire)) {
      step_back();
    }
  }
  void leave_as_owner() { inside_.store(false, std::memory_order_release); }

  /// False while another visitor has it.
  [[nodiscard]] bool try_enter_as_visitor() {
    if (visited_.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    AsymmetricBarrier::heavy();
    wait_while(inside_);
    return true;
  }
  void leave_as_visitor() { visited_.store(false, std::memory_order_release); }

 private:
  void step_back();
  static void wait_while(const std::atomic<bool>& somebody);

  std::atomic<bool> inside_{};
  std::atomic<bool> visited_{};
};

/// Ready tasks of one thread: it takes the last one; helping threads take the first.
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

  /// The last task of a rank below `limit`, or null.
  [[nodiscard]] Task* pop(Task::Rank limit = Task::any_rank) {
    if (size() == 0) {  // Others only remove tasks.
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

  /// Whether the owner has signalled that there are tasks to take.
  [[nodiscard]] bool is_advertised() const { return advertised_.load(std::memory_order_relaxed); }
  void set_advertised() { advertised_.store(true, std::memory_order_relaxed); }

  // By any thread.

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  enum class Found : unsigned char { task, nothing, busy };
  struct Stolen {
    Found found{};
    Task* task{};
  };
  /// Takes the first task, if its rank is below `limit`. An empty deque is no longer advertised.
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
  std::size_t first_{};              ///< index of the first task that is left
  std::vector<Task*> tasks_;
};

}  // namespace forkrun
