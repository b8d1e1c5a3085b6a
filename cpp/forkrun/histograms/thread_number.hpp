#pragma once

#include <cstddef>

namespace forkrun {

/// Number of a thread that fills histograms, from 1; numbers of ended threads are reused, so
/// numbers stay below the number of threads. All threads beyond `most_threads` have the next
/// number.
[[nodiscard]] std::size_t claim_thread_number();
inline constexpr std::size_t most_threads = 512;

// Not of the model initial-exec, which is faster to read: other libraries may have used up its room
// when this one is loaded.
extern constinit thread_local std::size_t claimed_thread_number;  // 0: none yet

[[nodiscard]] inline std::size_t thread_number() {
  const std::size_t number = claimed_thread_number;
  return number != 0 ? number : claim_thread_number();
}

}  // namespace forkrun
