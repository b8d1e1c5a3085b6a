#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>

namespace forkrun::root_io {

/// Name and form of each branch, for comparison with those of other files.
[[nodiscard]] std::vector<std::string> described_branches(const BranchTree& branches);

/// Top-level branches that the trees of a path have in all files which have it, with the same
/// form, in the order of the first; one name stands for each branch that has it; paths where these
/// are not all branches. Trees of these names are left out. \throws InputError
[[nodiscard]] std::map<std::string, std::vector<std::string>> common_branches(
    const std::vector<std::string>& inputs, const std::set<std::string>& exclude);

}  // namespace forkrun::root_io
