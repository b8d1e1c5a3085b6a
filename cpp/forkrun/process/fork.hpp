#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
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

}  // namespace forkrun
