#include <forkrun/formats/rntuple/write/record_writer.hpp>

#include <utility>
#include <vector>

#include <forkrun/bytes/xxh3.hpp>

namespace forkrun::rntuple {

namespace {

void put_field(RecordWriter& to, const Field& field) {
  constexpr std::uint16_t is_array = 1, is_projected = 2, has_type_checksum = 4;
  to.record([&] {
    to.numbers(field.version, field.type_version, field.parent);
    to.number(static_cast<std::uint16_t>(field.role));
    to.number(static_cast<std::uint16_t>((field.n_repetitions > 0 ? is_array : 0) |
                                         (field.source ? is_projected : 0) |
                                         (field.type_checksum ? has_type_checksum : 0)));
    to.text(field.name);
    to.text(field.type);
    to.text(field.alias);
    to.text(field.description);
    if (field.n_repetitions > 0) {
      to.number(field.n_repetitions);
    }
    if (field.source) {
      to.number(*field.source);
    }
    if (field.type_checksum) {
      to.number(*field.type_checksum);
    }
  });
}

void put_column(RecordWriter& to, const StoredColumn& column) {
  constexpr std::uint16_t has_range = 2;
  const bool is_quantised = column.encoding == Encoding::real32_quantised;
  to.record([&] {
    to.numbers(static_cast<std::uint16_t>(column.encoding), column.n_bits, column.field,
               is_quantised ? has_range : std::uint16_t{}, column.representation);
    if (is_quantised) {
      to.numbers(column.range[0], column.range[1]);
    }
  });
}

/// (column, projected field) of each.
std::vector<std::pair<std::uint32_t, std::uint32_t>> aliases_of(const Schema& schema) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> aliases;
  for (std::uint32_t number = 0; number < schema.fields.size(); ++number) {
    if (schema.fields[number].source) {
      for (const auto column : schema.fields[number].columns) {
        aliases.emplace_back(column, number);
      }
    }
  }
  return aliases;
}

}  // namespace

void RecordWriter::text(std::string_view text) {
  number(static_cast<std::uint32_t>(text.size()));
  raw(std::as_bytes(std::span{text}));
}

void RecordWriter::raw(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

/// Sizes that do not fit into the short form have one of a type of its own.
void RecordWriter::locator(const Locator& where) {
  constexpr std::uint64_t first_large = 1U << 31U;
  if (where.n_bytes < first_large) {
    numbers(static_cast<std::int32_t>(where.n_bytes), where.place);
    return;
  }
  constexpr std::int32_t n_own_bytes = 20, large = 1 << 24;
  numbers(-(n_own_bytes | large), where.n_bytes, where.place);
}

std::size_t RecordWriter::begin_frame() {
  const auto place = bytes_.size();
  number(std::int64_t{});
  return place;
}

void RecordWriter::end_frame(std::size_t place, bool is_list) {
  const auto n_bytes = static_cast<std::int64_t>(bytes_.size() - place);
  const auto told = is_list ? -n_bytes : n_bytes;
  std::memcpy(bytes_.data() + place, &told, sizeof told);
}

std::vector<std::byte> envelope(EnvelopeType type, std::span<const std::byte> content) {
  constexpr unsigned type_bits = 16;
  const auto n_bytes = content.size() + 2 * checksum_bytes;
  RecordWriter whole;
  whole.number(static_cast<std::uint64_t>(type) | std::uint64_t{n_bytes} << type_bits);
  whole.raw(content);
  whole.number(xxh3(whole.bytes()));
  return {whole.bytes().begin(), whole.bytes().end()};
}

void put_header(RecordWriter& to, std::string_view name, const Schema& schema) {
  to.number(std::uint64_t{});  // features
  to.text(name);
  to.text("");
  to.text("forkrun");
  to.list(schema.fields.size(), [&] {
    for (const auto& field : schema.fields) {
      put_field(to, field);
    }
  });
  to.list(schema.columns.size(), [&] {
    for (const auto& column : schema.columns) {
      put_column(to, column);
    }
  });
  const auto aliases = aliases_of(schema);
  to.list(aliases.size(), [&] {
    for (const auto& [column, field] : aliases) {
      to.record([&] { to.numbers(column, field); });
    }
  });
  to.list(schema.class_records.size(), [&] {
    for (const auto& bytes : schema.class_records) {
      to.record([&] { to.raw(bytes); });
    }
  });
}

void put_no_extension(RecordWriter& to) {
  to.record([&] {
    for (int n_lists = 4; n_lists > 0; --n_lists) {
      to.list(0, [] {});
    }
  });
}

}  // namespace forkrun::rntuple
