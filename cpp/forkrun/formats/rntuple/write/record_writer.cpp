#include <forkrun/formats/rntuple/write/record_writer.hpp>

#include <forkrun/bytes/xxh3.hpp>

namespace forkrun::rntuple {

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

}  // namespace forkrun::rntuple
