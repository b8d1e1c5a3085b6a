#include <forkrun/formats/ttree/merge/merged_structure.hpp>

#include <algorithm>
#include <iterator>
#include <set>

#include <TBranch.h>
#include <TBranchRef.h>
#include <TObjArray.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

bool is_filled_by_branch(TTree& tree) {
  return tree.GetEntries() == 0 && std::ranges::any_of(all_branches(tree).filled, [](auto* branch) {
           return branch->GetEntries() > 0;
         });
}

std::vector<std::string> described_branches(const BranchTree& branches) {
  std::vector<std::string> names;
  for (const auto& group : {branches.filled, branches.holders}) {
    for (auto* branch : group) {
      names.push_back(std::string{branch->GetName()} + " (" + form_of(*branch) + ")");
    }
  }
  return names;
}

namespace {

std::vector<std::string> names_of_tops(TTree& tree) {
  std::vector<std::string> names;
  for (TObject* branch : *tree.GetListOfBranches()) {
    names.emplace_back(branch->GetName());
  }
  return names;
}

std::vector<std::string> missing_from(const std::vector<std::string>& these,
                                      const std::vector<std::string>& those) {
  const std::set<std::string> known{those.begin(), those.end()};
  std::vector<std::string> missing;
  std::ranges::copy_if(these, std::back_inserter(missing),
                       [&](const auto& name) { return !known.contains(name); });
  return missing;
}

}  // namespace

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t n_shown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), n_shown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > n_shown ? text + " and " + std::to_string(names.size() - n_shown) + " more"
                                : text;
}

void MergedStructure::begin(TTree& first, const BranchTree& branches, const std::string& file) {
  first_path_ = file;
  names_ = described_branches(branches);
  tops_ = names_of_tops(first);
}

bool MergedStructure::is_of(const BranchTree& branches) const {
  return described_branches(branches) == names_;
}

BranchTree MergedStructure::branches_of(TTree& tree) const {
  if (!is_reordered(tree)) {
    return all_branches(tree);
  }
  BranchTree merged;
  BranchPlaces places;
  for (const auto& name : tops_) {
    if (auto* top = branch_at(tree, places.next(name))) {
      const auto of_top = all_branches(*top);
      merged.filled.insert(merged.filled.end(), of_top.filled.begin(), of_top.filled.end());
      merged.holders.insert(merged.holders.end(), of_top.holders.begin(), of_top.holders.end());
    }
  }
  if (auto* table = tree.GetBranchRef()) {
    merged.filled.push_back(table);
  }
  return merged;
}

/// Not where several branches have one name.
bool MergedStructure::is_reordered(TTree& tree) const {
  auto names = names_of_tops(tree);
  if (tops_.empty() || names == tops_) {
    return false;
  }
  auto before = tops_;
  std::ranges::sort(names);
  std::ranges::sort(before);
  return names == before && std::ranges::adjacent_find(names) == names.end();
}

void MergedStructure::check(TTree& tree, const std::string& where) const {
  const auto names = described_branches(branches_of(tree));
  if (names == names_) {
    return;
  }
  const auto lacking = missing_from(names_, names);
  const auto extra = missing_from(names, names_);
  throw InputError(
      where + " differs from that of " + first_path_ +
      (lacking.empty() ? "" : "; it lacks " + some_of(lacking)) +
      (extra.empty() ? "" : "; it has also " + some_of(extra)) +
      (lacking.empty() && extra.empty() ? "; branches within others have another order" : "") +
      "; --fields union fills what is missing, --fields common leaves it out; or merge such files "
      "apart, or without this tree (--trees; in a job merge.carry = false)");
}

}  // namespace forkrun::root_io
