#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace forkrun {

/// In a new child: crashes and ends of its own children have their usual effects (ROOT would answer
/// a crash with a traceback of its own and SIGABRT), signals that stop the parent do nothing, and
/// no signal is blocked. In processes that a module forks or starts, signals have their default
/// actions.
void forget_signals();

/// Batch systems send SIGTERM to every process of a job. A child takes orders from its parent only:
/// from now on SIGTERM of `parent` sets `order` to `Order::end_after_block`; SIGTERM of any other
/// process does nothing. `order` must outlive the process's use. After `forget_signals`.
void obey_only(pid_t parent, std::atomic<std::uint32_t>& order);

/// Notes a crash of a thread other than the process's first, before other handlers run. `elsewhere`
/// must outlive the process's use.
void note_crashes(std::atomic<bool>& elsewhere);

/// Signal on which a thread writes its call stack to stderr and continues.
[[nodiscard]] int stack_signal();
/// Installs its handler. Before the fork: loads everything it needs.
void write_stacks_on_signal();
/// Sends it to one thread of another process; false if the thread has ended.
bool ask_for_stack(pid_t process, pid_t thread);

}  // namespace forkrun
