#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// Lets tasks pass one at a time in the order of their numbers 0, 1, 2, …, for any order of
/// arrival; an early one waits without holding a thread:
///
///     if (!queue.enter(number, task)) return;   // comes back when it is its turn
///     …
///     if (Task* next = queue.leave(number)) ready.push(*next);
///
/// Every number must enter and leave once. At most `n_waiting` numbers are under way at a time, so
/// number and turn meet in a ring of that size: the second to come finds the first.
class OrderedTaskQueue {
 public:
  explicit OrderedTaskQueue(std::size_t n_waiting)
      : n_places_{n_waiting}, places_{std::make_unique<Place[]>(n_waiting)} {
    reset();
  }

  /// Number 0 is next again. The queue must not be in use.
  void reset() {
    for (std::size_t place = 0; place < n_places_; ++place) {
      places_[place].store(nullptr, std::memory_order_relaxed);
    }
    places_[0].store(&turn_, std::memory_order_relaxed);
  }

  [[nodiscard]] bool enter(std::uint64_t number, Task& task) {
    auto& place = places_[number % n_places_];
    // Release: a leaving task sees this one. Acquire: the task sees everything before its turn.
    Task* const found = place.exchange(&task, std::memory_order_acq_rel);
    if (found != &turn_) {
      return false;
    }
    place.store(nullptr, std::memory_order_relaxed);  // Ordered by the exchange in `leave`.
    return true;
  }

  /// Returns the task whose turn it is now, if it has arrived, to be executed.
  [[nodiscard]] Task* leave(std::uint64_t number) {
    auto& place = places_[(number + 1) % n_places_];
    Task* const found = place.exchange(&turn_, std::memory_order_acq_rel);
    if (found != nullptr) {
      place.store(nullptr, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  class Turn final : public Task {
    void execute(ReadyTasks& /*ready*/) noexcept override {}
  };
  using Place = std::atomic<Task*>;

  Turn turn_;
  std::size_t n_places_;
  std::unique_ptr<Place[]> places_;
};

}  // namespace forkrun
