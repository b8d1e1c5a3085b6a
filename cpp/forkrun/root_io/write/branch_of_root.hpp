#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <forkrun/root_io/write/branch_target.hpp>

class TBranch;

namespace forkrun::root_io {

/// A branch of a tree of ROOT's that is written.
[[nodiscard]] std::unique_ptr<BranchTarget> branch_of_root(TBranch& branch);

/// By leaf: the largest number of values or objects that the branch tells; 0: it counts none.
[[nodiscard]] std::vector<std::int64_t> largest_told_counts(TBranch& branch);

}  // namespace forkrun::root_io
