#pragma once

#include <string>

namespace forkrun::root_io {

/// Starts ROOT's interpreter, for any number of threads, if it has not been started: reading plain
/// trees needs none.
void start_root();

/// Loads ROOT's libraries, dictionaries and interpreter by writing and reading a small tree in
/// memory, so that children share them. Starts no thread and leaves no file open.
void warm_up();

/// Restores the signal handlers in place before ROOT's libraries were loaded. ROOT's own allocate
/// memory, so a process that crashes while it allocates or forks would hang; and they have a
/// debugger write a stack.
void restore_signal_handlers();

[[nodiscard]] std::string root_version();

}  // namespace forkrun::root_io
