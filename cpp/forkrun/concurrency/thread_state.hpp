#pragma once

#include <sys/types.h>

namespace forkrun {

/// Whether a thread of this process sleeps (in a wait or a system call), as opposed to one that
/// runs or waits for a CPU. True also if the kernel does not say. Costs some microseconds.
[[nodiscard]] bool is_asleep(pid_t thread);

}  // namespace forkrun
