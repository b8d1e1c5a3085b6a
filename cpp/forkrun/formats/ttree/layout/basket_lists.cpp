#include <forkrun/formats/ttree/layout/basket_lists.hpp>

#include <algorithm>

#include <forkrun/bytes/big_endian.hpp>

namespace forkrun::root_io {

namespace {

/// Gives its length.
int skip_key(ObjectStream& from) {
  constexpr int large = 1000;
  from.skip<std::int32_t>();  // bytes of the record
  const auto version = from.number<std::int16_t>();
  from.skip<std::int32_t>(2);  // bytes of the object, date
  const auto length = from.number<std::int16_t>();
  from.skip<std::int16_t>();  // cycle
  from.skip<std::int32_t>(version > large ? 4 : 2);
  for (int names = 0; names < 3; ++names) {
    static_cast<void>(from.text());
  }
  ObjectStream::require(length >= 0);
  return length;
}

std::vector<std::int32_t> parse_offsets(ObjectStream& from, std::size_t n, std::int32_t key_length,
                                        std::int32_t last) {
  const auto bytes = from.take(n * sizeof(std::int32_t));
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < n; ++i) {
    const auto offset = big_endian<std::int32_t>(&bytes[i * sizeof(std::int32_t)]);
    ObjectStream::require(offset >= key_length && offset <= last);
    offsets.push_back(offset - key_length);
  }
  offsets.push_back(last - key_length);
  ObjectStream::require(n > 0 && std::ranges::is_sorted(offsets));
  return offsets;
}

}  // namespace

std::optional<BasketOfTree> parse_basket_of_tree(ObjectStream& from, bool has_offsets) {
  const auto key_length = skip_key(from);
  from.skip<std::uint16_t>();  // version
  from.skip<std::int32_t>();   // room
  if (from.number<std::int32_t>() < 0) {
    from.skip<std::uint8_t>();  // features
  }
  const auto n_entries = from.number<std::uint32_t>();
  const auto last = from.number<std::int32_t>();
  constexpr int nothing = 0, offsets_and_bytes = 11, bytes_alone = 12;
  const auto follows = from.number<std::uint8_t>();
  if (follows == nothing) {
    return {};
  }
  ObjectStream::require(follows == offsets_and_bytes || follows == bytes_alone);
  BasketOfTree basket{n_entries};
  ObjectStream::require(last >= key_length);
  if (follows == offsets_and_bytes) {
    ObjectStream::require(from.number<std::uint32_t>() == n_entries);
    basket.offsets = parse_offsets(from, n_entries, key_length, last);
  }
  ObjectStream::require(has_offsets == !basket.offsets.empty());
  const auto bytes = from.take(static_cast<std::size_t>(last));
  const auto entries = bytes.subspan(static_cast<std::size_t>(key_length));
  basket.entries.assign(entries.begin(), entries.end());
  return basket;
}

}  // namespace forkrun::root_io
