#pragma once

#include <span>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

/// Baskets of branches of these classes can be copied whole; others have branches that are in no
/// list.
[[nodiscard]] bool are_known(const BranchTree& branches);
[[nodiscard]] bool has_objects(const BranchTree& branches);
/// Whether ROOT fills the branch with the bytes that it has read.
[[nodiscard]] bool has_numbers_alone(TBranch& branch);
/// Objects may point to each other: by numbers that belong to their file.
[[nodiscard]] bool may_have_references(const InputFile& file, const BranchTree& branches);
/// Whether entries can be taken as bytes.
[[nodiscard]] bool are_relocatable(const BranchTree& branches);
/// \throws InputError if bytes of objects would mean something else in a file of today's version:
/// ROOT reads some by the version of the file that they are in.
void check_version(const InputFile& file, const BranchTree& branches);
/// Whether ROOT has to copy it, as entries cannot be taken as bytes.
[[nodiscard]] bool needs_root(TTree& tree, const InputFile& file, const BranchTree& branches,
                              std::span<const BasketPlace> places);

}  // namespace forkrun::root_io
