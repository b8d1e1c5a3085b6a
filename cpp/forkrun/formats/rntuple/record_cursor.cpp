#include <forkrun/formats/rntuple/record_cursor.hpp>

#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>

namespace forkrun::rntuple {

namespace {

/// Size and content; a list has its size with a minus.
Frame any_frame(RecordCursor& from, bool is_list) {
  const auto size = from.number<std::int64_t>();
  const std::int64_t least = sizeof(std::int64_t) + (is_list ? sizeof(std::uint32_t) : 0);
  if ((size < 0) != is_list || size < -(INT64_MAX - 1) || (is_list ? -size : size) < least) {
    throw Error("its records do not have the form that they should");
  }
  const auto n = static_cast<std::size_t>(is_list ? -size : size) - sizeof(std::int64_t);
  Frame frame{RecordCursor{from.take(n)}};
  if (is_list) {
    frame.n_items = frame.content.number<std::uint32_t>();
  }
  return frame;
}

}  // namespace

std::span<const std::byte> RecordCursor::take(std::size_t n) {
  if (n > left_.size()) {
    throw Error("it is cut short");
  }
  const auto taken = left_.first(n);
  left_ = left_.subspan(n);
  return taken;
}

std::string RecordCursor::text() {
  const auto characters = take(number<std::uint32_t>());
  return {reinterpret_cast<const char*>(characters.data()), characters.size()};
}

Frame record_frame(RecordCursor& from) { return any_frame(from, false); }

Frame list_frame(RecordCursor& from) { return any_frame(from, true); }

ByteRange range_of(const Locator& where) {
  return {static_cast<std::int64_t>(where.place), static_cast<std::int64_t>(where.n_bytes)};
}

Locator locator(RecordCursor& from) {
  constexpr std::uint32_t size_mask = 0xffff, type_shift = 24, large = 1;
  const auto head = from.number<std::int32_t>();
  if (head >= 0) {
    return {from.number<std::uint64_t>(), static_cast<std::uint64_t>(head)};
  }
  const auto told = static_cast<std::uint32_t>(-static_cast<std::int64_t>(head));
  if (told >> type_shift != large || (told & size_mask) < sizeof head) {
    throw Error("some of its pages are not in a file but in an object store, which is not read");
  }
  RecordCursor inner{from.take((told & size_mask) - sizeof head)};
  const auto n_bytes = inner.number<std::uint64_t>();
  return {inner.number<std::uint64_t>(), n_bytes};
}

std::uint64_t checksum_of(std::span<const std::byte> envelope) {
  std::uint64_t checksum;
  std::memcpy(&checksum, envelope.last(checksum_bytes).data(), sizeof checksum);
  return checksum;
}

RecordCursor envelope_content(std::span<const std::byte> envelope, EnvelopeType type) {
  constexpr std::size_t type_bits = 16;
  if (envelope.size() < 2 * checksum_bytes) {
    throw Error("it is cut short");
  }
  const auto content = envelope.first(envelope.size() - checksum_bytes);
  RecordCursor from{content};
  const auto head = from.number<std::uint64_t>();
  if ((head & ((1U << type_bits) - 1)) != static_cast<std::uint64_t>(type) ||
      head >> type_bits != envelope.size() || xxh3(content) != checksum_of(envelope)) {
    throw Error("its checksum is not that of its bytes");
  }
  return from;
}

std::vector<std::byte> unpacked_envelope(std::span<const std::byte> stored,
                                         std::uint64_t n_unpacked) {
  if (stored.size() > n_unpacked) {
    throw Error("it has an impossible size");
  }
  try {
    return restored(stored, n_unpacked);
  } catch (const Error&) {
    throw Error("it cannot be uncompressed");
  }
}

}  // namespace forkrun::rntuple
