#pragma once

#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>

namespace forkrun::root_io {

class TreeFile;

/// A tree or an RNTuple in a file.
struct StoredTable {
  std::string path;
  bool is_ntuple{};
};
/// In the order of keys.
[[nodiscard]] std::vector<StoredTable> stored_tables(const TreeFile& file);
/// Paths of the RNTuples of a file, in the order of its keys.
[[nodiscard]] std::vector<std::string> ntuple_names(const TreeFile& file);

/// Columns of an RNTuple; those with several names, "Jet.pt" and "Jet_pt", once: under the name of
/// a field of the file if there is one, else the name in trees.
[[nodiscard]] std::vector<const rntuple::FieldColumn*> columns_once(
    const rntuple::NtupleTable& ntuple);
/// Branches of a tree for them. Lists have the counter of their collection, else their own. \throws
/// InputError naming a field that is no column, or if it is in a folder
[[nodiscard]] std::vector<NewBranch> ntuple_branches(const rntuple::NtupleTable& ntuple);

}  // namespace forkrun::root_io
