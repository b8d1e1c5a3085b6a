#pragma once

#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/data/source.hpp>

namespace forkrun::bindings {

/// Columns in Python's form: name and type ("float32[]").
using NamesAndTypes = std::vector<std::pair<std::string, std::string>>;

inline std::vector<ColumnDescription> descriptions_of(const NamesAndTypes& columns) {
  std::vector<ColumnDescription> descriptions;
  for (const auto& [name, type] : columns) {
    descriptions.push_back({name, ColumnType::parse(type)});
  }
  return descriptions;
}

inline NamesAndTypes names_and_types_of(const std::vector<ColumnDescription>& columns) {
  NamesAndTypes names;
  for (const auto& column : columns) {
    names.emplace_back(column.name, column.type.name());
  }
  return names;
}

}  // namespace forkrun::bindings
