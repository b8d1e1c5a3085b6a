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

/// Such a stretch in memory, of baskets that were checked.
struct BasketChunk {
  std::span<std::byte> bytes;
  std::vector<std::span<const std::byte>> records;
  std::vector<BasketHeader> headers;
};

/// \throws InputError
inline BasketChunk read_chunk(TreeFile& file, const BasketCheck& check,
                              std::span<const BasketPlace> places, Bytes& memory) {
  const auto range = range_of(places);
  return file.reading_again(range, [&] {
    BasketChunk chunk{memory.resize(static_cast<std::size_t>(range.n_bytes)), {}, {}};
    file.read(range.place, chunk.bytes);
    chunk.records = records_in(chunk.bytes, places);
    chunk.headers = check.check(places, chunk.records);
    return chunk;
  });
}

}  // namespace forkrun::root_io
