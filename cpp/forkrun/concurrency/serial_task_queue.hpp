#pragma once

#include <atomic>

#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// Lets one task at a time use a resource, in the order of their arrival, without a lock and
/// without holding a thread:
///
///     if (!queue.enter(task)) return;        // comes back, as the owner, when `leave` returns it
///     …                                      // alone
///     if (Task* next = queue.leave()) ready.push(*next);
///
/// `head_` is null when the resource is free, `&taken_` when it is used and no task waits, else the
/// last of the waiting tasks. Only the owner takes them, all at once, into `waiting_`.
class SerialTaskQueue {
 public:
  /// True if the resource is the task's at once. Else the task is kept until a `leave` returns it.
  [[nodiscard]] bool enter(Task& task) {
    Task* head = nullptr;
    // Acquire: the task sees the previous owner's writes. Release: that owner must see the task's
    // link.
    while (!head_.compare_exchange_weak(head, head == nullptr ? &taken_ : &task,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
      task.next_ = head;
    }
    return head == nullptr;
  }

  /// Called by the owner, once. Returns the next owner, to be executed, or null.
  [[nodiscard]] Task* leave() {
    if (waiting_ == nullptr && !take_waiting()) {
      return nullptr;
    }
    Task* next = waiting_;
    waiting_ = next->next_;
    return next;
  }

 private:
  /// End of the list: never executed.
  class Taken final : public Task {
    void execute(ReadyTasks& /*ready*/) noexcept override {}
  };

  /// False if no task waits; then the resource is free.
  bool take_waiting() {
    Task* head = &taken_;
    if (head_.compare_exchange_strong(head, nullptr, std::memory_order_acq_rel)) {
      return false;
    }
    head = head_.exchange(&taken_, std::memory_order_acq_rel);
    while (head != &taken_) {  // The last comes first: reverse the order.
      Task* earlier = head->next_;
      head->next_ = waiting_;
      waiting_ = head;
      head = earlier;
    }
    return true;
  }

  Taken taken_;
  std::atomic<Task*> head_{};
  Task* waiting_{};  ///< in order of arrival; the owner's
};

}  // namespace forkrun
