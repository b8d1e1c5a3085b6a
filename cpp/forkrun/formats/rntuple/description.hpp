#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <forkrun/formats/rntuple/field_column.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// What an RNTuple says of its fields, and the columns that these are.
struct Description {
  std::string name;
  std::uint64_t header_checksum{};
  Schema schema;
  std::vector<FieldColumn> columns;
  std::unordered_map<std::string, std::size_t> by_name;
};

/// Where a file says it.
struct DescriptionRecord {
  std::vector<std::byte> header;  ///< as it is stored
  std::uint64_t n_unpacked{};
  std::vector<std::byte> extension;  ///< of the header, in the footer
  bool operator==(const DescriptionRecord&) const = default;
};

/// What such a record says. Files that were written alike have equal records, and share one
/// description: a thousand fields take a while. Any thread. \throws Error
[[nodiscard]] std::shared_ptr<const Description> description_of(DescriptionRecord record);

/// \throws Error if a header or footer says that it uses features that are not known.
void require_known_features(RecordCursor& from);

}  // namespace forkrun::rntuple
