#include <forkrun/formats/ttree/write/root_branches.hpp>

#include <TTree.h>

#include <forkrun/formats/ttree/write/branch_of_root.hpp>
#include <forkrun/formats/ttree/write/output_schema.hpp>

namespace forkrun::root_io {

/// Not by TTree::GetBranch, which finds branches that the copy of a tree was made without.
bool RootBranches::has(const std::string& branch) const {
  return tree_.GetListOfBranches()->FindObject(branch.c_str()) != nullptr;
}

std::unique_ptr<BranchTarget> RootBranches::add(const ColumnDescription& column) {
  return branch_of_root(add_branch(tree_, column));
}

std::unique_ptr<BranchTarget> RootBranches::add_counter(const std::string& name) {
  return branch_of_root(root_io::add_counter(tree_, name));
}

}  // namespace forkrun::root_io
