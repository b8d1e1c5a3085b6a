#pragma once

#include <memory>

#include <forkrun/formats/ttree/write/branch_target.hpp>

class TBranch;

namespace forkrun::root_io {

/// A branch of a tree of ROOT's that is written.
[[nodiscard]] std::unique_ptr<BranchTarget> branch_of_root(TBranch& branch);

}  // namespace forkrun::root_io
