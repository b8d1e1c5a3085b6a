#include <forkrun/formats/ttree/layout/basket.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_record.hpp>

namespace forkrun::root_io {

namespace {

// The key of a basket, in its form for large files (64-bit places).
constexpr std::size_t at_n_bytes = 0, at_version = 4, at_object_length = 6, at_date = 10,
                      at_key_length = 14, at_cycle = 16, at_seek_key = 18, at_seek_directory = 26,
                      end_of_fixed_key = 34;
/// Among a basket's I/O features (ROOT::TIOFeatures).
constexpr unsigned generates_offsets = 1;
constexpr std::int16_t key_version = 1004, basket_version = 3;
constexpr std::string_view class_name = "TBasket";
/// The same for all: a basket's record does not say how many of its branch come before it.
constexpr std::int16_t only_cycle = 0;

/// A string of the key and where it ends.
struct Text {
  std::string_view text;
  std::size_t end;
};

Text text_at(std::span<const std::byte> record, std::size_t at) {
  std::size_t length = at < record.size() ? std::to_integer<std::size_t>(record[at]) : 0;
  ++at;
  if (length == 255 && at + 4 <= record.size()) {
    length = big_endian<std::uint32_t>(&record[at]);
    at += 4;
  }
  if (at > record.size() || length > record.size() - at) {
    throw Error("the header of a basket is cut short");
  }
  return {{reinterpret_cast<const char*>(record.data()) + at, length}, at + length};
}

/// Places of a key of either form are 64 or 32 bits wide.
bool is_large(std::span<const std::byte> record) {
  return big_endian<std::int16_t>(&record[at_version]) > 1000;
}

std::size_t at_class_name(std::span<const std::byte> record) {
  return is_large(record) ? end_of_fixed_key : at_seek_key + 8;
}

class RecordWriter {
 public:
  explicit RecordWriter(std::vector<std::byte>& record) : record_{record} {}
  template <typename T>
  void put(T value) {
    const auto at = record_.size();
    record_.resize(at + sizeof(T));
    put_big_endian(&record_[at], value);
  }
  void put(const std::string& text) {
    if (text.size() < 255) {
      put(static_cast<std::uint8_t>(text.size()));
    } else {
      put(std::uint8_t{255});
      put(static_cast<std::int32_t>(text.size()));
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    record_.insert(record_.end(), bytes, bytes + text.size());
  }

 private:
  std::vector<std::byte>& record_;
};

void write_header(RecordWriter& writer, const BasketHeader& header, const std::string& name,
                  const std::string& title) {
  writer.put(header.n_bytes);
  writer.put(key_version);
  writer.put(header.object_length);
  writer.put(reproducible_date);
  writer.put(header.key_length);
  writer.put(only_cycle);
  writer.put(std::int64_t{0});
  writer.put(std::int64_t{0});
  writer.put(std::string{"TBasket"});
  writer.put(name);
  writer.put(title);
  writer.put(basket_version);
  writer.put(std::max(header.last, header.key_length + header.object_length));
  writer.put(header.entry_size);
  writer.put(header.n_entries);
  writer.put(header.last);
  writer.put(std::uint8_t{0});
}

/// Entries, then ROOT's array of offsets: its length, one offset per entry, one unused.
std::vector<std::byte> basket_object(std::span<const std::byte> entries,
                                     std::span<const std::int32_t> offsets,
                                     std::int16_t key_length) {
  const std::size_t n_offset_bytes =
      offsets.empty() ? 0 : sizeof(std::int32_t) * (offsets.size() + 2);
  std::vector<std::byte> object(entries.size() + n_offset_bytes);
  std::copy(entries.begin(), entries.end(), object.begin());
  if (!offsets.empty()) {
    auto* at = object.data() + entries.size();
    put_big_endian(at, static_cast<std::int32_t>(offsets.size() + 1));
    for (const auto offset : offsets) {
      put_big_endian(at += sizeof(offset), offset + key_length);
    }
    put_big_endian(at + sizeof(std::int32_t), std::int32_t{0});
  }
  return object;
}

}  // namespace

std::span<const std::byte> Basket::entries(std::int64_t first, std::int64_t last) const {
  const auto from = static_cast<std::size_t>(first - first_entry);
  const auto to = static_cast<std::size_t>(last - first_entry);
  if (offsets.empty()) {
    return data.subspan(from * entry_size, (to - from) * entry_size);
  }
  const auto begin = static_cast<std::size_t>(offsets[from]);
  return data.subspan(begin, static_cast<std::size_t>(offsets[to]) - begin);
}

namespace {

[[noreturn]] void throw_sizes_differ() {
  throw Error("a basket is damaged: its sizes do not agree");
}

/// The numbers of the basket's own header, after the key.
void parse_own_header(std::span<const std::byte> record, std::size_t at, BasketHeader& header) {
  constexpr std::size_t n_bytes = 18;
  const auto key_length = static_cast<std::size_t>(header.key_length);
  if (at + n_bytes > key_length) {
    throw_sizes_differ();
  }
  header.entry_size = big_endian<std::int32_t>(&record[at + 6]);
  if (header.entry_size < 0) {  // marks a byte of I/O features that follows
    header.entry_size = static_cast<std::int32_t>(-std::int64_t{header.entry_size} & 0x7fffffff);
    header.lacks_offsets = (std::to_integer<unsigned>(record[at + 10]) & generates_offsets) != 0;
    if (++at + n_bytes > key_length) {
      throw_sizes_differ();
    }
  }
  header.n_entries = big_endian<std::int32_t>(&record[at + 10]);
  header.last = big_endian<std::int32_t>(&record[at + 14]);
}

void check_sizes(const BasketHeader& header, std::span<const std::byte> record) {
  const auto n_entries_bytes = std::int64_t{header.last} - header.key_length;
  if (header.n_entries < 0 || n_entries_bytes < 0 || n_entries_bytes > header.object_length) {
    throw_sizes_differ();
  }
  const auto payload = record.subspan(static_cast<std::size_t>(header.key_length));
  const auto n_object = static_cast<std::size_t>(header.object_length);
  if (payload.size() > n_object) {
    throw_sizes_differ();
  }
  if (payload.size() < n_object) {
    check_blocks(payload, n_object);
  }
}

}  // namespace

bool is_basket(std::span<const std::byte> record) {
  if (record.size() < end_of_fixed_key) {
    return false;
  }
  const auto at = at_class_name(record);
  return record.size() > at + class_name.size() &&
         std::to_integer<std::size_t>(record[at]) == class_name.size() &&
         std::string_view{reinterpret_cast<const char*>(&record[at + 1]), class_name.size()} ==
             class_name;
}

BasketHeader parse_basket_header(std::span<const std::byte> record) {
  if (record.size() < end_of_fixed_key) {
    throw Error("the header of a basket is cut short");
  }
  BasketHeader header;
  header.n_bytes = big_endian<std::int32_t>(&record[at_n_bytes]);
  header.object_length = big_endian<std::int32_t>(&record[at_object_length]);
  header.key_length = big_endian<std::int16_t>(&record[at_key_length]);
  header.is_of_small_file = !is_large(record);
  header.seek_key = header.is_of_small_file ? big_endian<std::int32_t>(&record[at_seek_key])
                                            : big_endian<std::int64_t>(&record[at_seek_key]);
  if (header.key_length <= 0 || header.object_length < 0 ||
      std::cmp_greater(header.key_length, record.size()) ||
      std::cmp_not_equal(header.n_bytes, record.size())) {
    throw_sizes_differ();
  }
  if (!is_basket(record)) {
    throw Error("a basket is damaged: the record is not a basket");
  }
  const auto name = text_at(record, at_class_name(record) + 1 + class_name.size());
  const auto title = text_at(record, name.end);
  parse_own_header(record, title.end, header);
  check_sizes(header, record);
  return header;
}

std::string_view basket_name(std::span<const std::byte> record) {
  return text_at(record, text_at(record, at_class_name(record)).end).text;
}

namespace {

void decode_offsets(const BasketHeader& header, std::span<const std::byte> object, Basket& basket) {
  const auto end = static_cast<std::size_t>(header.last - header.key_length);
  const auto n = static_cast<std::size_t>(header.n_entries);
  if (n > (object.size() - end) / sizeof(std::int32_t) ||
      end + sizeof(std::int32_t) * (n + 1) > object.size()) {
    throw Error("a basket has no offsets of its entries");
  }
  basket.offsets.resize(n + 1);
  swap_copy(reinterpret_cast<std::byte*>(basket.offsets.data()),
            object.data() + end + sizeof(std::int32_t), n, sizeof(std::int32_t));
  basket.offsets[n] = header.last;
  move_offsets(basket.offsets, header.key_length);
}

/// The compressed contents of a record, and the room for them.
Zipped zipped_of(const BasketHeader& header, std::span<const std::byte> record, Bytes& memory) {
  return {record.subspan(static_cast<std::size_t>(header.key_length)),
          memory.resize(static_cast<std::size_t>(header.object_length))};
}

/// From the object after the header.
void fill_basket(const BasketHeader& header, std::span<const std::byte> object, bool has_offsets,
                 Basket& basket) {
  basket.n_entries = header.n_entries;
  basket.data = object.first(static_cast<std::size_t>(header.last - header.key_length));
  basket.offsets.clear();
  basket.lacks_offsets = has_offsets && header.lacks_offsets && header.n_entries > 0;
  if (basket.lacks_offsets) {
    basket.entry_size = 0;
  } else if (has_offsets) {
    decode_offsets(header, object, basket);
  } else {
    set_entry_size(basket);
  }
}

/// Compresses objects of any size: `stored` leaves small ones as they are.
std::vector<std::byte> compressed(std::vector<std::byte> object, Compression compression) {
  if (compression.level == 0) {
    return object;
  }
  std::vector<std::byte> zipped(object.size() + object.size() / 64 + 64);
  const auto n = zip(object, compression, zipped);
  if (n == 0 || n >= object.size()) {
    return object;
  }
  zipped.resize(n);
  return zipped;
}

}  // namespace

void decode_basket(std::span<const std::byte> record, bool has_offsets, Bytes& memory,
                   Basket& basket) {
  const auto header = parse_basket_header(record);
  const auto zipped = zipped_of(header, record, memory);
  if (zipped.from.size() == zipped.into.size()) {
    std::ranges::copy(zipped.from, zipped.into.begin());
  } else {
    unzip(zipped.from, zipped.into);
  }
  fill_basket(header, zipped.into, has_offsets, basket);
}

bool is_zlib_basket(std::span<const std::byte> record) {
  const auto header = parse_basket_header(record);
  const auto payload = record.subspan(static_cast<std::size_t>(header.key_length));
  return is_one_zlib_block(payload, static_cast<std::size_t>(header.object_length));
}

bool has_checksum(std::span<const std::byte> record) {
  const auto header = parse_basket_header(record);
  const auto payload = record.subspan(static_cast<std::size_t>(header.key_length));
  return std::cmp_not_equal(payload.size(), header.object_length) && have_checksums(payload);
}

bool decode_both(const BasketToDecode& one, const BasketToDecode& other, bool has_offsets) {
  const auto header = parse_basket_header(one.record);
  const auto of_other = parse_basket_header(other.record);
  const auto zipped = zipped_of(header, one.record, one.memory);
  const auto zipped_other = zipped_of(of_other, other.record, other.memory);
  const auto is_stored = [](const Zipped& each) { return each.from.size() == each.into.size(); };
  if (is_stored(zipped) || is_stored(zipped_other) || !are_better_together(zipped, zipped_other)) {
    return false;
  }
  unzip_both(zipped, zipped_other);
  fill_basket(header, zipped.into, has_offsets, one.basket);
  fill_basket(of_other, zipped_other.into, has_offsets, other.basket);
  return true;
}

void set_entry_size(Basket& basket) {
  const auto n = static_cast<std::size_t>(basket.n_entries);
  if (n == 0 ? !basket.data.empty() : basket.data.size() % n != 0) {
    throw Error("a basket is damaged: its " + counted(n, "entry has", "entries have") + " " +
                counted(basket.data.size(), "byte"));
  }
  basket.entry_size = n == 0 ? 0 : basket.data.size() / n;
}

void move_offsets(std::vector<std::int32_t>& offsets, std::int32_t key_length) {
  std::int32_t wrong = offsets[0] < key_length ? -1 : 0;
  const auto* const at = offsets.data();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    wrong |= at[i + 1] < at[i] ? -1 : 0;  // all, several at a time: numbers, as bool would be one
  }
  if (wrong != 0) {
    throw Error("a basket is damaged: the offsets of its entries are not in order");
  }
  for (auto& offset : offsets) {
    offset -= key_length;
  }
}

std::int16_t header_length(const std::string& name, const std::string& title) {
  const auto length_of = [](const std::string& text) {
    return text.size() + (text.size() < 255 ? 1U : 5U);
  };
  return static_cast<std::int16_t>(end_of_fixed_key + 1 + std::strlen("TBasket") + length_of(name) +
                                   length_of(title) + 2 + 4 * sizeof(std::int32_t) + 1);
}

BasketRecord encode_basket(const std::string& name, const std::string& title,
                           std::span<const std::byte> entries,
                           std::span<const std::int32_t> offsets, std::int32_t entry_size,
                           std::int32_t n_entries, Compression compression) {
  BasketRecord basket;
  auto& header = basket.header;
  header.key_length = header_length(name, title);
  const auto object = basket_object(entries, offsets, header.key_length);
  header.object_length = static_cast<std::int32_t>(object.size());
  header.entry_size = offsets.empty() ? entry_size : static_cast<std::int32_t>(offsets.size() + 1);
  header.n_entries = n_entries;
  header.last = header.key_length + static_cast<std::int32_t>(entries.size());

  const auto payload = compressed(object, compression);
  header.n_bytes = header.key_length + static_cast<std::int32_t>(payload.size());
  basket.record.reserve(static_cast<std::size_t>(header.n_bytes));
  RecordWriter writer{basket.record};
  write_header(writer, header, name, title);
  basket.record.insert(basket.record.end(), payload.begin(), payload.end());
  return basket;
}

void place_basket(std::span<std::byte> record, std::int64_t seek_key, std::int64_t seek_directory,
                  std::optional<std::uint16_t> process_offset) {
  put_big_endian(&record[at_date], reproducible_date);
  put_big_endian(&record[at_cycle], only_cycle);
  if (is_large(record)) {
    const auto known = big_endian<std::uint16_t>(&record[at_seek_directory]);
    put_big_endian(&record[at_seek_key], seek_key);
    put_big_endian(&record[at_seek_directory], seek_directory);
    if (process_offset) {  // in the two bytes that no place in a file needs
      put_big_endian(&record[at_seek_directory],
                     static_cast<std::uint16_t>(known + *process_offset));
    }
    return;
  }
  if (seek_key > std::numeric_limits<std::int32_t>::max()) {
    throw Error(
        "a basket has a key of the form of small files, which cannot be beyond 2 GB; have "
        "baskets joined or recompressed");
  }
  put_big_endian(&record[at_seek_key], static_cast<std::int32_t>(seek_key));
  put_big_endian(&record[at_seek_key + sizeof(std::int32_t)],
                 static_cast<std::int32_t>(seek_directory));
}

}  // namespace forkrun::root_io
