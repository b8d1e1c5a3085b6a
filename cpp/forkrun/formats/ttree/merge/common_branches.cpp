#include <forkrun/formats/ttree/merge/common_branches.hpp>

#include <algorithm>

#include <TBranch.h>
#include <TFile.h>
#include <TTree.h>

#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

/// Names of top-level branches, in their order, and what they are.
using Described = std::vector<std::pair<std::string, std::vector<std::string>>>;

Described described_tops(TTree& tree) {
  Described tops;
  for (TObject* object : *tree.GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    tops.emplace_back(branch.GetName(), described_branches(all_branches(branch)));
  }
  return tops;
}

using ByName = std::map<std::string, std::vector<std::vector<std::string>>>;

ByName by_name(const Described& tops) {
  ByName named;
  for (const auto& [name, described] : tops) {
    named[name].push_back(described);
  }
  return named;
}

std::set<std::string> trees_of(TreeFile& file, const std::set<std::string>& exclude) {
  std::set<std::string> paths;
  for_each_object(file.file(), [&](const std::string& path, const TKey&, const TClass* type) {
    if (type != nullptr && type->InheritsFrom(TTree::Class()) && !exclude.contains(path)) {
      paths.insert(path);
    }
  });
  return paths;
}

}  // namespace

std::vector<std::string> described_branches(const BranchTree& branches) {
  std::vector<std::string> names;
  for (const auto& group : {branches.filled, branches.holders}) {
    for (auto* branch : group) {
      names.push_back(std::string{branch->GetName()} + " (" + form_of(*branch) + ")");
    }
  }
  return names;
}

std::map<std::string, std::vector<std::string>> common_branches(
    const std::vector<std::string>& inputs, const std::set<std::string>& exclude) {
  std::map<std::string, Described> common;
  std::map<std::string, Described> without_entries;
  std::set<std::string> differ;
  for (const auto& input : inputs) {
    TreeFile file{input};
    for (const auto& path : trees_of(file, exclude)) {
      auto& tree = file.tree(path);
      const auto tops = described_tops(tree);
      if (tree.GetEntries() == 0) {
        without_entries.try_emplace(path, tops);
        continue;
      }
      auto& known = common.try_emplace(path, tops).first->second;
      const auto ours = by_name(known);
      const auto theirs = by_name(tops);
      const auto is_lacking = [&](const auto& top) {
        const auto its = theirs.find(top.first);
        return its == theirs.end() || its->second != ours.at(top.first);
      };
      if (std::erase_if(known, is_lacking) > 0 || known.size() < tops.size()) {
        differ.insert(path);
      }
    }
  }
  common.merge(without_entries);
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& path : differ) {
    std::ranges::transform(common[path], std::back_inserter(names[path]),
                           [](const auto& top) { return top.first; });
  }
  return names;
}

}  // namespace forkrun::root_io
