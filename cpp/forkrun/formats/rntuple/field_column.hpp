#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// The stored columns that hold one thing, by representation.
using Representations = std::vector<std::uint32_t>;

/// A field as a column: in which lists its values are, and where they are stored.
struct FieldColumn {
  std::string name;                    ///< with those of the fields that it is in: "Jet.pt"
  std::optional<ColumnType> type;      ///< none: it cannot be read as a column
  std::string class_name;              ///< in C++, for people
  std::vector<Representations> lists;  ///< from the outermost: where their items end
  Representations values;              ///< of a count: the list whose items it counts
  bool is_count{};                     ///< the number of items in a list
  std::string counter;                 ///< name of the column that counts its values; "": none does
  std::uint32_t field{};               ///< that has the values; of no column: where reading ends

  /// The same values, under one name or two.
  [[nodiscard]] bool has_same_values_as(const FieldColumn& other) const {
    return type == other.type && lists == other.lists && values == other.values &&
           is_count == other.is_count;
  }
};

/// The stored columns of a field one after the other, each in all representations. Empty if some
/// of these have more of them than others.
[[nodiscard]] std::vector<Representations> columns_of(const Schema& schema, const Field& field);

/// The fields of an RNTuple as columns, in their order. After them, for each list of records,
/// "Jet", the names that trees have for its members: "nJet", and "Jet_pt" for "Jet.pt", unless
/// there are fields of these names.
[[nodiscard]] std::vector<FieldColumn> field_columns(const Schema& schema);

/// Names of projected fields without which `field_columns` gives the same columns.
[[nodiscard]] std::set<std::string> second_names(const Schema& schema);

}  // namespace forkrun::rntuple
