#include <forkrun/formats/rntuple/schema.hpp>

#include <algorithm>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::rntuple {

namespace {

void require_form(bool condition, const char* what) {
  if (!condition) {
    throw Error(what);
  }
}

Field parse_field(RecordCursor from) {
  enum Flag : std::uint16_t { is_array = 1, is_projected = 2, has_type_checksum = 4 };
  Field field;
  field.version = from.number<std::uint32_t>();
  field.type_version = from.number<std::uint32_t>();
  field.parent = from.number<std::uint32_t>();
  const auto role = from.number<std::uint16_t>();
  require_form(role <= static_cast<std::uint16_t>(FieldRole::streamed),
               "a field has a role that this version of forkrun does not know");
  field.role = static_cast<FieldRole>(role);
  const auto flags = from.number<std::uint16_t>();
  require_form((flags & ~(is_array | is_projected | has_type_checksum)) == 0,
               "a field has a flag that this version of forkrun does not know; update forkrun");
  field.name = from.text();
  field.type = from.text();
  field.alias = from.text();
  field.description = from.text();
  if ((flags & is_array) != 0) {
    field.n_repetitions = from.number<std::uint64_t>();
    require_form(field.n_repetitions > 0, "an array has no values");
  }
  if ((flags & is_projected) != 0) {
    field.source = from.number<std::uint32_t>();
  }
  if ((flags & has_type_checksum) != 0) {
    field.type_checksum = from.number<std::uint32_t>();
  }
  return field;
}

/// Bits of a value; 0: any number from 1 to 32.
std::uint16_t bits_of(Encoding encoding) {
  using enum Encoding;
  switch (encoding) {
    case bit: return 1;
    case byte:
    case character:
    case int8:
    case uint8: return 8;
    case int16:
    case uint16:
    case real16:
    case split_int16:
    case split_uint16: return 16;
    case int32:
    case uint32:
    case real32:
    case index32:
    case split_int32:
    case split_uint32:
    case split_real32:
    case split_index32: return 32;
    case int64:
    case uint64:
    case real64:
    case index64:
    case split_int64:
    case split_uint64:
    case split_real64:
    case split_index64: return 64;
    case switched: return 96;
    case real32_truncated:
    case real32_quantised: return 0;
  }
  throw Error(
      "a column has an encoding that this version of forkrun does not know; update forkrun");
}

StoredColumn parse_column(RecordCursor from) {
  constexpr std::uint16_t is_late = 1, has_range = 2, most_bits = 32;
  StoredColumn column;
  column.encoding = static_cast<Encoding>(from.number<std::uint16_t>());
  column.n_bits = from.number<std::uint16_t>();
  const auto wanted = bits_of(column.encoding);
  require_form(
      wanted != 0 ? column.n_bits == wanted : column.n_bits >= 1 && column.n_bits <= most_bits,
      "a column has values of an impossible number of bits");
  column.field = from.number<std::uint32_t>();
  const auto flags = from.number<std::uint16_t>();
  require_form((flags & ~(is_late | has_range)) == 0,
               "a column has a flag that this version of forkrun does not know; update forkrun");
  column.representation = from.number<std::uint16_t>();
  if ((flags & is_late) != 0) {
    const auto first = from.number<std::int64_t>();
    column.is_late = first != 0;
    column.begins_suppressed = first < 0;
  }
  if ((flags & has_range) != 0) {
    column.range = {from.number<double>(), from.number<double>()};
  }
  return column;
}

}  // namespace

bool is_index(Encoding encoding) {
  using enum Encoding;
  return encoding == index32 || encoding == index64 || encoding == split_index32 ||
         encoding == split_index64;
}

void Schema::add(RecordCursor from) {
  add_fields(from);
  add_columns(from);
  add_aliases(from);
  add_class_records(from);
  require_form(
      std::ranges::all_of(
          fields, [&](const auto& field) { return field.source.value_or(0) < fields.size(); }) ||
          fields.empty(),
      "a projected field shows one that is not there");
}

bool is_rounded(Encoding encoding) {
  using enum Encoding;
  return encoding == real16 || encoding == real32_truncated || encoding == real32_quantised;
}

void Schema::add_fields(RecordCursor& from) {
  auto list = list_frame(from);
  for (auto n = list.n_items; n > 0; --n) {
    auto field = parse_field(record_frame(list.content).content);
    const auto number = static_cast<std::uint32_t>(fields.size());
    require_form(field.parent <= number, "a field is within one that is not there");
    if (field.parent != number) {
      fields[field.parent].children.push_back(number);
    }
    fields.push_back(std::move(field));
  }
}

void Schema::add_columns(RecordCursor& from) {
  auto list = list_frame(from);
  for (auto n = list.n_items; n > 0; --n) {
    const auto column = parse_column(record_frame(list.content).content);
    require_form(column.field < fields.size(), "a column is of a field that is not there");
    fields[column.field].columns.push_back(static_cast<std::uint32_t>(columns.size()));
    columns.push_back(column);
  }
}

void Schema::add_aliases(RecordCursor& from) {
  auto list = list_frame(from);
  for (auto n = list.n_items; n > 0; --n) {
    auto alias = record_frame(list.content).content;
    const auto column = alias.number<std::uint32_t>();
    const auto field = alias.number<std::uint32_t>();
    require_form(column < columns.size() && field < fields.size(),
                 "a projected field is of a column that is not there");
    fields[field].columns.push_back(column);
  }
}

void Schema::add_class_records(RecordCursor& from) {
  auto list = list_frame(from);
  for (auto n = list.n_items; n > 0; --n) {
    const auto bytes = record_frame(list.content).content.rest();
    class_records.emplace(bytes.begin(), bytes.end());
  }
}

}  // namespace forkrun::rntuple
