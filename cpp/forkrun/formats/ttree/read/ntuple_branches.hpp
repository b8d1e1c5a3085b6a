#pragma once

#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>

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

/// The branches that a tree has for the columns of an RNTuple: those that are there under two
/// names, "Jet.pt" and "Jet_pt", once; without the counters that branches bring along.
/// \throws InputError naming a field that is no column, or if it lies in a folder
[[nodiscard]] std::vector<ColumnDescription> ntuple_branches(const rntuple::NtupleTable& ntuple);

}  // namespace forkrun::root_io
