#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forkrun {

/// Waits some ten nanoseconds in a loop. The CPU stays with the thread: on a machine with other
/// work, a yielding thread gets it back milliseconds later.
inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace forkrun
