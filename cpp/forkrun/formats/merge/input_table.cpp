#include <forkrun/formats/merge/input_table.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/index/ntuple_branches.hpp>
#include <forkrun/formats/index/tree_index.hpp>
#include <forkrun/formats/ttree/merge/merged_structure.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>

namespace forkrun::root_io {

using rntuple::NtupleTable;
using rntuple::OpenTable;

std::vector<std::string> names_of_columns(const OpenTable& opened) {
  std::vector<std::string> names;
  if (const auto* ntuple = dynamic_cast<const NtupleTable*>(opened.table.get())) {
    std::ranges::transform(columns_once(*ntuple), std::back_inserter(names),
                           &rntuple::FieldColumn::name);
  } else {
    std::ranges::transform(branch_accounts(opened.file->path(), opened.table->name()),
                           std::back_inserter(names), &BranchAccount::name);
  }
  return names;
}

std::vector<NewBranch> branches_of(const OpenTable& opened) {
  if (const auto* ntuple = dynamic_cast<const NtupleTable*>(opened.table.get())) {
    return with_counters(ntuple_branches(*ntuple));
  }
  std::vector<NewBranch> branches;
  for (const auto& branch : opened.file->input_tree(opened.table->name()).branches()) {
    if (!branch.layout.column) {
      throw InputError("branch \"" + branch.layout.name +
                       "\" is not a column, and the table is "
                       "an RNTuple in other files");
    }
    branches.push_back({branch.layout.name, *branch.layout.column, branch.layout.counter});
  }
  return with_counters(std::move(branches));
}

std::vector<std::string> described(const std::vector<NewBranch>& branches) {
  std::vector<std::string> texts;
  std::ranges::transform(branches, std::back_inserter(texts), [](const auto& branch) {
    return branch.name + " (" + branch.type.name() + ")";
  });
  return texts;
}

std::vector<std::string> relations_of(const OpenTable& opened) {
  TTree& tree = opened.file->tree(opened.table->name());
  auto relations = stored_friends(tree);
  for (auto& name : relations) {
    name.insert(0, "the friend ");
  }
  if (tree.GetTreeIndex() != nullptr) {
    relations.emplace_back("the index of its entries");
  }
  return relations;
}

bool is_filled_by_branch(const TreeFile& file, const std::string& path) {
  const auto record = file.record_of(path, {});
  return record ? record->is_filled_by_branch() : root_io::is_filled_by_branch(file.tree(path));
}

void require_checksums(const OpenTable& opened) {
  const auto& ntuple = dynamic_cast<const NtupleTable&>(*opened.table).ntuple();
  for (std::size_t cluster = 0; cluster < ntuple.clusters.size(); ++cluster) {
    const auto& columns = ntuple.clusters[cluster].columns;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const auto page =
          std::ranges::find(columns[column].pages, false, &rntuple::Page::has_checksum);
      if (page != columns[column].pages.end()) {
        throw InputError(
            opened.file->path() + ": RNTuple \"" + opened.table->name() + "\": field \"" +
            rntuple::path_of(ntuple.schema(), ntuple.schema().columns[column].field) + "\": page " +
            std::to_string(page - columns[column].pages.begin()) + " in cluster " +
            std::to_string(cluster) +
            " has no checksum, without which damage in it cannot be seen; forkrun convert takes "
            "such files, and writes checksums");
      }
    }
  }
}

}  // namespace forkrun::root_io
