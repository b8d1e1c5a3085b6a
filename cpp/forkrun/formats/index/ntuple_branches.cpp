#include <forkrun/formats/index/ntuple_branches.hpp>

#include <algorithm>

#include <TClass.h>
#include <TFile.h>
#include <TKey.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

bool is_member(const std::string& name) { return name.find('.') != std::string::npos; }

/// Whether a field itself has the name of a column, as opposed to the reader: "Jet_pt" for
/// "Jet.pt".
bool is_field(const rntuple::NtupleTable& ntuple, const std::string& name) {
  const auto& fields = ntuple.ntuple().schema().fields;
  return std::ranges::any_of(fields, [&](const auto& field) {
    return field.name == name && &fields[field.parent] == &field;
  });
}

/// Whether another column has the same values under a preferred name.
bool is_second_name(const rntuple::NtupleTable& ntuple, const rntuple::FieldColumn& column) {
  const bool has_dot = is_member(column.name);
  if (!column.type || (!has_dot && is_field(ntuple, column.name))) {
    return false;
  }
  return std::ranges::any_of(ntuple.columns(), [&](const auto& other) {
    return !is_member(other.name) && other.name != column.name &&
           other.has_same_values_as(column) && (has_dot || is_field(ntuple, other.name));
  });
}

/// A TChain is only a list of files.
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

std::vector<const rntuple::FieldColumn*> columns_once(const rntuple::NtupleTable& ntuple) {
  std::vector<const rntuple::FieldColumn*> columns;
  for (const auto& column : ntuple.columns()) {
    if (!is_second_name(ntuple, column)) {
      columns.push_back(&column);
    }
  }
  return columns;
}

std::vector<NewBranch> ntuple_branches(const rntuple::NtupleTable& ntuple) {
  const auto where = "RNTuple \"" + ntuple.name() + "\"";
  if (ntuple.name().find('/') != std::string::npos) {
    throw InputError(where + " is in a folder, and cannot be carried to outputs as a tree");
  }
  std::vector<NewBranch> branches;
  for (const auto* column : columns_once(ntuple)) {
    if (!column->type) {
      throw InputError(where + ": field \"" + column->name + "\" (" + column->class_name +
                       ") cannot be carried to outputs as a branch of a tree");
    }
    branches.push_back({column->name, *column->type, column->counter});
  }
  return branches;
}

}  // namespace forkrun::root_io
