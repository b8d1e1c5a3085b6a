#pragma once

#include <memory>

#include <forkrun/root_io/write/branch_target.hpp>

class TBranch;

namespace forkrun::root_io {

/// A branch of a tree of ROOT's that is written.
[[nodiscard]] std::unique_ptr<BranchTarget> branch_of_root(TBranch& branch);

/// The largest number of values or objects that a branch tells; 0 if it counts none.
[[nodiscard]] std::int64_t largest_told_count(TBranch& branch);

}  // namespace forkrun::root_io
