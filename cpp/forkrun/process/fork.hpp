#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace forkrun {

/// In the parent: `pids`. In a child: its number, from 0.
struct Forked {
  std::vector<pid_t> pids;
  std::optional<std::size_t> child;
};

/// Forks `n` children in a row, without writes of the parent in between: each changed page would be
/// copied once more for every earlier child. Children are killed when their parent ends, and before
/// it where memory runs out; its signal handlers do not apply to them. `together`: none returns
/// before all have been made, so that working children do not take the CPU from the forking parent.
/// Throws std::system_error if a fork fails, after killing the children made so far.
[[nodiscard]] Forked fork_children(std::size_t n, bool together);

/// Whether `fork_children` made this process, or an ancestor.
[[nodiscard]] bool is_child();

/// Makes orphaned descendants of this process its children, instead of init's. A child made by
/// `fork_children` begins this way: its own children come to its parent when it ends, and not
/// before.
void adopt_orphans(bool yes);

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
