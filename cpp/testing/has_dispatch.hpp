#pragma once

#include <stdexcept>

#include <forkrun/concurrency/executor.hpp>

namespace forkrun {

/// Whether this build has the threads of libdispatch.
inline bool has_dispatch_executor() {
  try {
    (void)make_dispatch_executor(1);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace forkrun
