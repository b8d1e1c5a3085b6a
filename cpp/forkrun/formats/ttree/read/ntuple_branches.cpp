#include <forkrun/formats/ttree/read/ntuple_branches.hpp>

#include <algorithm>
#include <set>

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

}  // namespace

std::vector<std::string> ntuple_names(const TreeFile& file) {
  std::vector<std::string> names;
  const auto objects = file.outline() ? file.outline()->objects() : std::nullopt;
  if (objects) {
    for (const auto& [path, key] : *objects) {
      if (rntuple::is_class_name(key.type)) {
        names.push_back(path);
      }
    }
    return names;
  }
  for_each_object(file.file(), [&](const std::string& path, const TKey& key, const TClass*) {
    if (rntuple::is_class_name(key.GetClassName())) {
      names.push_back(path);
    }
  });
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
