#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace forkrun {

/// In a child that has just been forked: crashes and ends of its own children have the effects that
/// they have in any process (ROOT would answer a crash with a traceback of its own and SIGABRT),
/// signals that stop the parent do nothing, and no signal is blocked. In processes that a module
/// forks or starts of it, signals have their default actions again.
void forget_signals();

/// Batch systems send SIGTERM to every process of a job. A child takes orders from its parent only:
/// from here on SIGTERM of `parent` sets `order` to `Order::end_after_block`; of any other process
/// it does nothing. `order` must outlive the process's use. After `forget_signals`.
void obey_only(pid_t parent, std::atomic<std::uint32_t>& order);

/// Notes whether a thread crashes that is not the first of this process, before what else is done
/// about it. `elsewhere` must outlive the process's use.
void note_crashes(std::atomic<bool>& elsewhere);

/// A thread that gets this signal writes its call stack to stderr and continues.
[[nodiscard]] int stack_signal();
/// Makes it so. Before the fork: what is needed is loaded here.
void write_stacks_on_signal();
/// Sends it to one thread of another process; false if there is no such thread any more.
bool ask_for_stack(pid_t process, pid_t thread);

}  // namespace forkrun
