#include <forkrun/formats/ttree/merge/unread_copy.hpp>

#include <algorithm>
#include <set>
#include <string_view>

#include <TBranch.h>
#include <TBranchElement.h>
#include <TBranchObject.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/movable.hpp>

namespace forkrun::root_io {

bool are_known(const BranchTree& branches) {
  for (const auto& group : {branches.filled, branches.holders}) {
    for (const auto* branch : group) {
      if (branch->IsA() != TBranch::Class() && branch->IsA() != TBranchElement::Class() &&
          branch->IsA() != TBranchObject::Class()) {
        return false;
      }
    }
  }
  return true;
}

bool has_objects(const BranchTree& branches) {
  return std::ranges::any_of(branches.filled,
                             [](auto* branch) { return branch->IsA() != TBranch::Class(); });
}

bool has_numbers_alone(TBranch& branch) {
  if (branch.IsA() != TBranch::Class()) {
    return false;
  }
  const std::set<std::string_view> exact{"TLeafB", "TLeafS", "TLeafI", "TLeafL", "TLeafG",
                                         "TLeafF", "TLeafD", "TLeafO", "TLeafC"};
  for (const TObject* leaf : *branch.GetListOfLeaves()) {
    if (!exact.contains(leaf->ClassName())) {
      return false;
    }
  }
  return true;
}

bool may_have_references(const InputFile& file, const BranchTree& branches) {
  return file.file().GetNProcessIDs() > 0 && has_objects(branches);
}

bool are_relocatable(const BranchTree& branches) {
  return std::ranges::all_of(branches.filled,
                             [](auto* branch) { return has_relocatable_entries(*branch); });
}

void check_version(const InputFile& file, const BranchTree& branches) {
  const auto version = file.file().GetVersion();
  for (auto* branch : branches.filled) {
    auto* element = dynamic_cast<TBranchElement*>(branch);
    if (element != nullptr && depends_on_file_version(*element, version)) {
      throw InputError(file.path() + ": objects of branch \"" + branch->GetName() +
                       "\" have a form that only files of old ROOT may have: write this tree anew"
                       " with ROOT and the classes of its objects, or merge without it (--trees)");
    }
  }
}

bool needs_root(TTree& tree, const InputFile& file, const BranchTree& branches,
                std::span<const BasketPlace> places) {
  const bool is_all_on_file =
      std::ranges::all_of(places, [](const auto& place) { return place.seek != 0; });
  return tree.GetBranchRef() != nullptr || may_have_references(file, branches) ||
         !(are_relocatable(branches) || is_all_on_file);
}

}  // namespace forkrun::root_io
