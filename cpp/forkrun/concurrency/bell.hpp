#pragma once

#include <semaphore.h>
#include <time.h>

#include <chrono>

#include <forkrun/concurrency/relax.hpp>

namespace forkrun {

/// Wakes a sleeping thread; rings are counted. One thread waits, any may ring. (libstdc++'s
/// semaphores yield before they sleep: on a machine with other work that costs milliseconds each
/// time.)
class Bell {
 public:
  Bell() { ::sem_init(&rings_, 0, 0); }
  ~Bell() { ::sem_destroy(&rings_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void ring() { ::sem_post(&rings_); }

  void wait() {
    if (is_soon()) {
      return;
    }
    while (::sem_wait(&rings_) != 0) {  // interrupted by a signal
    }
  }

  /// Returns when rung, or after `duration`.
  void wait_for(std::chrono::nanoseconds duration) {
    constexpr long second = 1'000'000'000;
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += duration.count();
    until.tv_sec += until.tv_nsec / second;
    until.tv_nsec %= second;
    (void)::sem_clockwait(&rings_, CLOCK_MONOTONIC, &until);
  }

 private:
  /// Catches a ring while still awake: sleeping and waking takes microseconds.
  bool is_soon() {
    for (int i = 0; i < 20; ++i) {
      if (::sem_trywait(&rings_) == 0) {
        return true;
      }
      relax();
    }
    return false;
  }

  sem_t rings_{};
};

}  // namespace forkrun
