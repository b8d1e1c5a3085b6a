#pragma once

#include <string_view>

namespace forkrun {

/// A module may fork. The copy of the child that it makes must not act as the child: it would
/// process and commit the child's units a second time.

/// This process does the work of a job: a copy that is forked of it from here on is one. May be
/// called again, also in a copy that is to do work of its own.
void claim_process();
/// This process begins anew: it does not count as a copy.
void unclaim_process();
/// Whether this process was forked of a claimed one.
[[nodiscard]] bool is_forked_copy();
/// Ends a copy that comes back from the module that forked it, with a word on stderr; `error`: by
/// which it came back.
[[noreturn]] void end_forked_copy(int exit_code, std::string_view error = {});

}  // namespace forkrun
