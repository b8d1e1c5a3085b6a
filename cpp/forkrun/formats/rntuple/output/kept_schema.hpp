#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/formats/rntuple/field_column.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// The fields of these columns as an RNTuple has them, with those that they are in, their encodings
/// and the projected fields that show nothing else, in their order. A class of which not all
/// members are kept becomes a record without a class. `taken`: names that projected fields cannot
/// have.
[[nodiscard]] Schema kept_schema(const Schema& from, std::span<const FieldColumn* const> columns,
                                 const std::set<std::string>& taken);
/// All of its fields; columns keep their numbers where each is of the only representation.
[[nodiscard]] Schema kept_schema(const Schema& from, const std::set<std::string>& taken = {});

/// The stored columns of a file that are those of a kept schema, by representation. \throws Error
/// naming the field that it lacks or has otherwise.
[[nodiscard]] std::vector<Representations> stored_columns(const Schema& kept,
                                                          const Schema& of_file);

/// \throws Error naming a field of the file that is not in the schema.
void require_no_others(const Schema& kept, const Schema& of_file);

/// Path of a field, through the fields around it.
[[nodiscard]] std::string path_of(const Schema& schema, std::uint32_t field);

/// Counter of the values of a stored column.
struct Owner {
  std::optional<std::uint32_t> ends;  ///< the column where its lists end; none: the entries do
  std::uint64_t n_in_item{1};
  bool is_alternative{};  ///< of a variant: no more is known than that its values are in clusters
};
[[nodiscard]] Owner owner_of(const Schema& schema, std::uint32_t column);

/// Lists of records without a class, by the name of their count, which new members may join.
[[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> open_lists(const Schema& schema);

}  // namespace forkrun::rntuple
