#pragma once

#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

class TBranch;
class TDirectory;
class TTree;

namespace forkrun::root_io {

/// Adds a branch for a column; one that is counted needs its counter branch in the
/// tree.
TBranch& add_branch(TTree& tree, const NewBranch& column);
/// Adds a counting branch.
TBranch& add_counter(TTree& tree, const std::string& name);

/// An empty copy, in a folder of an output file, of a tree with all branches of these names, and
/// the counters these need. \throws OutputError
TTree& copy_structure(TTree& tree, const std::vector<std::string>& branches, TDirectory& folder);

/// What one branch of objects reads, another one of the same form fills.
void share_address(TBranch& from, TBranch& to);

}  // namespace forkrun::root_io
