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

/// Forks `n` children in a row, and the parent writes nothing in between: a page that it changed
/// would be one more copy for every child that was made before. Children are killed when their
/// parent ends, and rather than it where memory runs out; what it does about signals does not hold
/// for them.
/// `together`: none of them returns before all have been made, so that children that are at work
/// already do not take the CPU from a parent that still forks.
/// Throws std::system_error if a fork fails, after having killed those that were made.
[[nodiscard]] Forked fork_children(std::size_t n, bool together);

/// Whether `fork_children` made this process, or one that it descends from.
[[nodiscard]] bool is_child();

/// What descendants of this process leave behind when they end become its children, and not init's.
/// A process that `fork_children` makes begins so: what it has started comes to its parent when it
/// ends, and not before.
void adopt_orphans(bool yes);

}  // namespace forkrun
