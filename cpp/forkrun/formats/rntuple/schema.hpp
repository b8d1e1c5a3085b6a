#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/rntuple/record_cursor.hpp>

namespace forkrun::rntuple {

enum class FieldRole : std::uint16_t { leaf, collection, record, variant, streamed };

/// A node of the tree of fields: a number, a list, a record of others.
struct Field {
  std::uint32_t parent{};  ///< its own number, of a top-level field
  FieldRole role{};
  std::string name;
  std::string type;               ///< in C++; "" of a collection or record without a class
  std::uint64_t n_repetitions{};  ///< of an array of fixed size; 0: it is none
  std::vector<std::uint32_t> children;
  std::vector<std::uint32_t> columns;  ///< its own, or of a projected field those of its source
  // Members that are only written again.
  std::uint32_t version{};
  std::uint32_t type_version{};
  std::string alias{};  ///< the type as it was named before aliases were resolved
  std::string description{};
  std::optional<std::uint32_t> source{};  ///< the field that a projected one shows
  std::optional<std::uint32_t> type_checksum{};
};

/// How the values of a stored column are packed, by the format's own numbers.
enum class Encoding : std::uint16_t {
  bit,
  byte,
  character,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  real16,
  real32,
  real64,
  index32,
  index64,
  switched,
  split_int16,
  split_uint16,
  split_int32,
  split_uint32,
  split_int64,
  split_uint64,
  split_real32 = 0x18,
  split_real64,
  split_index32,
  split_index64,
  real32_truncated,
  real32_quantised
};
[[nodiscard]] bool is_index(Encoding encoding);
/// Whether reals are stored with fewer bits than they have.
[[nodiscard]] bool is_rounded(Encoding encoding);

/// A sequence of values of one field, in pages.
struct StoredColumn {
  Encoding encoding{};
  std::uint16_t n_bits{};  ///< of a value in a page
  std::uint32_t field{};
  std::uint16_t representation{};  ///< number of the set of columns of its field
  bool is_late{};  ///< was added when there were entries: it has zeros before its first pages
  bool begins_suppressed{};       ///< the same, of a representation that is not used at first
  std::array<double, 2> range{};  ///< of quantised values

  /// Whether the bytes of pages mean the same values.
  [[nodiscard]] bool is_packed_as(const StoredColumn& other) const {
    return encoding == other.encoding && n_bits == other.n_bits && range == other.range;
  }
};

/// Fields and columns of an RNTuple.
struct Schema {
  std::vector<Field> fields;
  std::vector<StoredColumn> columns;
  std::set<std::vector<std::byte>> class_records;  ///< of streamed fields; only written again

  /// Adds what a header says, or the extension in a footer. \throws Error
  void add(RecordCursor from);

 private:
  void add_fields(RecordCursor& from);
  void add_columns(RecordCursor& from);
  void add_aliases(RecordCursor& from);
  void add_class_records(RecordCursor& from);
};

}  // namespace forkrun::rntuple
