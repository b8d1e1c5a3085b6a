#pragma once

#include <sys/types.h>

namespace forkrun {

/// Whether a thread of this process sleeps (in a wait or a system call) instead of running or
/// waiting for a CPU. True if the kernel does not tell. Costs some microseconds.
[[nodiscard]] bool is_asleep(pid_t thread);

}  // namespace forkrun
