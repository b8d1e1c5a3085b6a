#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include <forkrun/concurrency/ready_tasks.hpp>
#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// A task that waits for a number of arrivals.
class WaitingTask : public Task {
 public:
  /// Call before anyone may arrive.
  void expect(std::uint32_t n_arrivals) {
    // Relaxed: the thread that arrives got this task through an operation that orders this store.
    n_missing_.store(n_arrivals, std::memory_order_relaxed);
  }

  /// True for the last of the expected arrivals, which then owns the task: it sees all writes that
  /// precede the other arrivals.
  [[nodiscard]] bool arrive() {
    // When only one is missing it is this one, and no other thread changes the count.
    if (n_missing_.load(std::memory_order_acquire) == 1) {
      return true;
    }
    return n_missing_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

 private:
  std::atomic<std::uint32_t> n_missing_{};
};

/// Place of a task in a list; a task may wait in several lists.
struct WaitingTaskLink {
  WaitingTask* task{};
  WaitingTaskLink* next{};
};

/// Tasks waiting for one result. Lock-free; each waiting task brings its own link, so nothing is
/// allocated.
///
///     idle ── first add ──▶ asked for ── close ──▶ done ── reset ──▶ idle
///
/// The first to add gets the answer `first`, and must ensure that the result is made. A task that
/// adds after the end gets `done`: there is nothing to wait for.
class WaitingTaskList {
 public:
  using Link = WaitingTaskLink;
  enum class Added : std::uint8_t { first, waiting, done };

  /// `link` stays in the list until `close`, unless the answer is `done`.
  [[nodiscard]] Added add(Link& link) {
    auto* head = head_.load(std::memory_order_acquire);
    do {
      if (head == &closed_) {
        return Added::done;
      }
      link.next = head;
      // Release: `close` on another thread reads the link. Acquire, when it fails: the end may then
      // be visible, and everything before it.
    } while (!head_.compare_exchange_weak(head, &link, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    return head == nullptr ? Added::first : Added::waiting;
  }

  /// The result is made, or failed: every waiting task has one arrival more. Links and tasks may be
  /// gone or in new use as soon as their task is ready.
  void close(ReadyTasks& ready, std::exception_ptr failure = nullptr) {
    if (failure) {
      failure_ = std::move(failure);
    }
    Link* link = head_.exchange(&closed_, std::memory_order_acq_rel);
    while (link != nullptr && link != &asked_for_) {
      Link* next = link->next;
      if (link->task->arrive()) {
        ready.push(*link->task);
      }
      link = next;
    }
  }

  /// Done, or asked for, from the start. Nobody else may use the list yet.
  void set_done(std::exception_ptr failure = nullptr) {
    failure_ = std::move(failure);
    head_.store(&closed_, std::memory_order_relaxed);
  }
  void set_asked_for() { head_.store(&asked_for_, std::memory_order_relaxed); }
  [[nodiscard]] bool is_done() const { return head_.load(std::memory_order_acquire) == &closed_; }
  /// After the end: the failure, or null.
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

  /// Back to idle. Nobody else may use the list meanwhile.
  void reset() {
    head_.store(nullptr, std::memory_order_relaxed);
    if (failure_) {
      failure_ = nullptr;
    }
  }

 private:
  inline static Link closed_{};
  inline static Link asked_for_{};  ///< end of a list whose first task does not wait in it
  std::atomic<Link*> head_{};
  std::exception_ptr failure_;
};

}  // namespace forkrun
