#pragma once

#include <string_view>

namespace forkrun {

/// A module may fork. The new copy of the child must not act as the child: it would process and
/// commit the child's units a second time.

/// Claims the work of the job for this process: processes forked from it later are copies. May be
/// called again, also in a copy with work of its own.
void claim_process();
/// Withdraws the claim: this process does not count as a copy.
void unclaim_process();
/// Whether this process was forked from a claimed one.
[[nodiscard]] bool is_forked_copy();
/// Ends a copy that returns from the module that forked it, with a message on stderr; `error`: its
/// exception.
[[noreturn]] void end_forked_copy(int exit_code, std::string_view error = {});

}  // namespace forkrun
