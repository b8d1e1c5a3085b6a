#pragma once

#include <cstddef>

namespace forkrun {

/// Threads that fill histograms are numbered from 1; a number is given away again when its thread
/// has ended, so numbers stay below the number of threads.
[[nodiscard]] std::size_t claim_thread_number();

// Initial-exec: read in one instruction, also from libraries that are loaded later.
#if defined(__GNUC__)
[[gnu::tls_model("initial-exec")]]
#endif
extern constinit thread_local std::size_t claimed_thread_number;

[[nodiscard]] inline std::size_t thread_number() {
  const std::size_t number = claimed_thread_number;
  return number != 0 ? number : claim_thread_number();
}

}  // namespace forkrun
