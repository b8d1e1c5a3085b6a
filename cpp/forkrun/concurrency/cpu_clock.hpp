#pragma once

#include <time.h>

#include <cstdint>

namespace forkrun {

inline std::int64_t cpu_clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// CPU time of the calling thread, without time that others take of its CPU. Costs a system call.
[[nodiscard]] inline std::int64_t thread_cpu_ns() { return cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/// CPU time of all threads of the process, including ended ones.
[[nodiscard]] inline std::int64_t process_cpu_ns() {
  return cpu_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace forkrun
