#include <forkrun/formats/ttree/write/recompress.hpp>

#include <algorithm>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/zip.hpp>

namespace forkrun::root_io {

BasketRecord recompress_basket(std::span<const std::byte> record, Compression compression) {
  BasketRecord basket;
  basket.header = parse_basket_header(record);
  const auto n_key = static_cast<std::size_t>(basket.header.key_length);
  const auto payload = record.subspan(n_key);
  std::vector<std::byte> object(static_cast<std::size_t>(basket.header.object_length));
  if (payload.size() >= object.size()) {
    std::copy_n(payload.begin(), object.size(), object.begin());
  } else {
    unzip(payload, object);
  }
  std::vector<std::byte> zipped(compression.level == 0 ? 0
                                                       : object.size() + object.size() / 64 + 64);
  const auto n_zipped = zipped.empty() ? 0 : zip(object, compression, zipped);
  const auto kept = n_zipped > 0 && n_zipped < object.size() ? std::span{zipped}.first(n_zipped)
                                                             : std::span{object};
  basket.record.assign(record.begin(), record.begin() + basket.header.key_length);
  basket.record.insert(basket.record.end(), kept.begin(), kept.end());
  basket.header.n_bytes = static_cast<std::int32_t>(basket.record.size());
  put_big_endian(basket.record.data(), basket.header.n_bytes);
  return basket;
}

}  // namespace forkrun::root_io
