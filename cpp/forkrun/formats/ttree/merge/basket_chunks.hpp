#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/formats/ttree/merge/basket_check.hpp>

namespace forkrun::root_io {

/// Calls `use` with stretches of baskets that follow each other on file, of some MB at most: what
/// one read and one write can take. `places`: by place.
template <typename Use>
void for_each_chunk(std::span<const BasketPlace> places, const Use& use) {
  constexpr std::int64_t chunk_bytes = 4 << 20;
  for (auto begin = places.begin(); begin != places.end();) {
    auto end = begin + 1;
    while (end != places.end() && end->seek == (end - 1)->seek + (end - 1)->n_bytes &&
           end->seek + end->n_bytes - begin->seek <= chunk_bytes) {
      ++end;
    }
    use(std::span{begin, end});
    begin = end;
  }
}

/// Where such a stretch is.
[[nodiscard]] inline ByteRange range_of(std::span<const BasketPlace> chunk) {
  return {chunk.front().seek, chunk.back().seek + chunk.back().n_bytes - chunk.front().seek};
}

/// They will be read one after the other.
inline void expect_chunks(const TreeFile& file, std::span<const BasketPlace> places) {
  if (file.is_local()) {
    return;
  }
  std::vector<ByteRange> ranges;
  for_each_chunk(places,
                 [&](std::span<const BasketPlace> chunk) { ranges.push_back(range_of(chunk)); });
  file.expect(ranges);
}

/// Reads such a stretch. \throws InputError
inline std::span<std::byte> read_chunk(TreeFile& file, std::span<const BasketPlace> chunk,
                                       Bytes& memory) {
  const auto [place, n_bytes] = range_of(chunk);
  const auto bytes = memory.resize(static_cast<std::size_t>(n_bytes));
  file.read(place, bytes);
  return bytes;
}

/// The records of its baskets.
inline std::vector<std::span<const std::byte>> records_in(std::span<const std::byte> bytes,
                                                          std::span<const BasketPlace> chunk) {
  std::vector<std::span<const std::byte>> records;
  for (const auto& place : chunk) {
    records.push_back(bytes.subspan(static_cast<std::size_t>(place.seek - chunk.front().seek),
                                    static_cast<std::size_t>(place.n_bytes)));
  }
  return records;
}

}  // namespace forkrun::root_io
