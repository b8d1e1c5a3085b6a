#include <forkrun/formats/ttree/read/ntuple_branches.hpp>

#include <algorithm>
#include <set>

#include <TClass.h>
#include <TFile.h>
#include <TKey.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_in_file.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/fragments/counter_name.hpp>

namespace forkrun::root_io {

namespace {

/// Whether another column has the same values under the name that trees have.
bool has_flat_name(const rntuple::NtupleTable& ntuple, const rntuple::FieldColumn& column) {
  auto flat = column.name;
  std::ranges::replace(flat, '.', '_');
  return flat != column.name && ntuple.has(flat);
}

/// A TChain is but a list of files.
bool is_class_of_trees(std::string_view class_name, const TClass* type) {
  return class_name == "TTree" || class_name == "TNtuple" || class_name == "TNtupleD" ||
         (type != nullptr && type->InheritsFrom("TTree") && class_name != "TChain");
}

}  // namespace

std::vector<StoredTable> stored_tables(const TreeFile& file) {
  std::vector<StoredTable> tables;
  const auto add = [&](const std::string& path, const std::string& name, const TClass* type) {
    if (const bool is_ntuple = rntuple::is_class_name(name);
        is_ntuple || is_class_of_trees(name, type)) {
      tables.push_back({path, is_ntuple});
    }
  };
  if (const auto objects = file.outline() ? file.outline()->objects() : std::nullopt) {
    for (const auto& [path, key] : *objects) {
      add(path, key.type, nullptr);
    }
  } else {
    file.check_keys();  // before ROOT opens its folders
    for_each_object(file.file(), [&](const std::string& path, const TKey& key, const TClass* type) {
      add(path, key.GetClassName(), type);
    });
  }
  return tables;
}

std::vector<std::string> ntuple_names(const TreeFile& file) {
  std::vector<std::string> names;
  for (const auto& [path, is_ntuple] : stored_tables(file)) {
    if (is_ntuple) {
      names.push_back(path);
    }
  }
  return names;
}

std::vector<ColumnDescription> ntuple_branches(const rntuple::NtupleTable& ntuple) {
  const auto where = "RNTuple \"" + ntuple.name() + "\"";
  if (ntuple.name().find('/') != std::string::npos) {
    throw InputError(where + " is in a folder, and cannot be carried to outputs as a tree");
  }
  std::vector<ColumnDescription> branches;
  std::set<std::string> counters;
  for (const auto& column : ntuple.columns()) {
    if (!column.type) {
      throw InputError(where + ": field \"" + column.name + "\" (" + column.class_name +
                       ") cannot be carried to outputs as a branch of a tree");
    }
    if (!has_flat_name(ntuple, column)) {
      branches.push_back({column.name, *column.type});
      if (column.type->is_counted()) {
        counters.insert(counter_name(column.name));
      }
    }
  }
  std::erase_if(branches, [&](const auto& each) { return counters.contains(each.name); });
  return branches;
}

}  // namespace forkrun::root_io
