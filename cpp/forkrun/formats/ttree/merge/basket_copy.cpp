#include <forkrun/formats/ttree/merge/basket_copy.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <forkrun/formats/ttree/write/branch_samples.hpp>

namespace forkrun::root_io {

namespace {

ByteRange range_of(std::span<const BasketPlace> chunk) {
  return {chunk.front().seek, chunk.back().seek + chunk.back().n_bytes - chunk.front().seek};
}

/// Announces that the chunks will be read one after the other.
void expect_chunks(const TreeFile& file, std::span<const BasketPlace> places) {
  if (file.is_local()) {
    return;
  }
  std::vector<ByteRange> ranges;
  for_each_chunk(places,
                 [&](std::span<const BasketPlace> chunk) { ranges.push_back(range_of(chunk)); });
  file.expect(ranges);
}

}  // namespace

BasketChunk read_chunk(TreeFile& file, const BasketCheck& check,
                       std::span<const BasketPlace> places, Bytes& memory) {
  const auto range = range_of(places);
  return file.reading_again(range, [&] {
    BasketChunk chunk{memory.resize(static_cast<std::size_t>(range.n_bytes)), {}, {}};
    file.read(range.place, chunk.bytes);
    for (const auto& place : places) {
      chunk.records.push_back(
          chunk.bytes.subspan(static_cast<std::size_t>(place.seek - range.place),
                              static_cast<std::size_t>(place.n_bytes)));
    }
    chunk.headers = check.check(places, chunk.records);
    return chunk;
  });
}

std::vector<BasketPlace> on_file(std::span<const BasketPlace> places) {
  std::vector<BasketPlace> sorted;
  std::ranges::copy_if(places, std::back_inserter(sorted),
                       [](const auto& place) { return place.seek != 0; });
  std::ranges::stable_sort(sorted, {}, &BasketPlace::seek);
  return sorted;
}

bool check_all(TreeFile& file, const BasketCheck& check, Bytes& memory,
               const std::function<bool(const BasketPlace&, const BasketHeader&)>& is) {
  const auto places = on_file(check.places());
  expect_chunks(file, places);
  bool is_any = false;
  for_each_chunk(places, [&](std::span<const BasketPlace> chunk) {
    const auto headers = read_chunk(file, check, chunk, memory).headers;
    for (std::size_t i = 0; is && i < headers.size(); ++i) {
      is_any = is_any || is(chunk[i], headers[i]);
    }
  });
  return is_any;
}

std::vector<CopiedBasket> copy_baskets(TreeFile& file, const BasketCheck& check,
                                       std::vector<BasketPlace> baskets, RecordFile& output,
                                       Bytes& memory, std::optional<std::uint16_t> process_offset) {
  std::ranges::sort(baskets, {}, &BasketPlace::seek);
  expect_chunks(file, baskets);
  std::vector<CopiedBasket> copied;
  copied.reserve(baskets.size());
  for_each_chunk(baskets, [&](std::span<const BasketPlace> chunk) {
    const auto [bytes, records, headers] = read_chunk(file, check, chunk, memory);
    const auto place = output.allocate(bytes.size());
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const auto offset = chunk[i].seek - chunk.front().seek;
      place_basket(bytes.subspan(static_cast<std::size_t>(offset), records[i].size()),
                   place + offset, output.seek_directory(), process_offset);
      sizes.push_back(records[i].size());
      copied.push_back({chunk[i].branch, chunk[i].first_entry, headers[i], place + offset,
                        ends_of(records[i], headers[i])});
    }
    output.write_records(place, bytes, sizes);
  });
  std::ranges::sort(
      copied, {}, [](const auto& basket) { return std::pair{basket.branch, basket.first_entry}; });
  return copied;
}

}  // namespace forkrun::root_io
