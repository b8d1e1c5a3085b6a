#include <forkrun/formats/root_file/file_record.hpp>

#include <algorithm>
#include <string_view>

#include <forkrun/bytes/big_endian.hpp>

namespace forkrun::root_io {

namespace {

// A key, of any record. Places are of 8 bytes where 1000 is added to the version.
constexpr std::size_t at_n_bytes = 0, at_version = 4, at_object_length = 6, at_date = 10,
                      at_key_length = 14, at_places = 18;
// A directory.
constexpr std::size_t at_created = 2, at_modified = 6, at_n_key_list = 10, at_n_before = 14,
                      at_directory_places = 18;
// The header of a file. Its version is larger by a million where places are of 8 bytes.
constexpr std::size_t at_file_version = 4, at_begin = 8, at_end = 12, at_n_name_bytes = 28,
                      at_compression = 33, at_classes = 37, at_uuid = 47, n_more_before_name = 8,
                      n_more_before_uuid = 12;
constexpr std::int32_t large_file = 1'000'000;
constexpr std::int16_t more_if_large = 1000;

bool is_version(std::span<const std::byte> at, std::int16_t version) {
  const auto found = big_endian<std::int16_t>(at.data());
  return found == version || found == version + more_if_large;
}

bool is_large(std::span<const std::byte> at) {
  return big_endian<std::int16_t>(at.data()) > more_if_large;
}

bool is_directory(std::span<const std::byte> bytes) {
  return bytes.size() >= n_directory_bytes && is_version(bytes, 5);
}

/// Place of the class name in a key.
std::size_t at_class(std::span<const std::byte> key) {
  return at_places + (is_large(key.subspan(at_version)) ? 16 : 8);
}

}  // namespace

std::size_t key_length_of(std::span<const std::byte> bytes) {
  if (bytes.size() < at_places || !is_version(bytes.subspan(at_version), 4)) {
    return 0;
  }
  const auto n_bytes = big_endian<std::int32_t>(&bytes[at_n_bytes]);
  const auto key_length = big_endian<std::int16_t>(&bytes[at_key_length]);
  const auto length = static_cast<std::size_t>(std::max(key_length, std::int16_t{0}));
  const bool is_key = length > at_class(bytes) && length <= bytes.size() && n_bytes >= key_length;
  return is_key ? length : 0;
}

namespace {

std::string_view class_of(std::span<const std::byte> key) {
  const auto at = at_class(key);
  const auto length = std::to_integer<std::size_t>(key[at]);
  const auto rest = key.size() - at - 1;
  return {reinterpret_cast<const char*>(&key[at]) + 1, std::min(length, rest)};
}

void set_date(std::span<std::byte> at) { put_big_endian(at.data(), reproducible_date); }

void set_dates_of_directory(std::span<std::byte> directory) {
  set_date(directory.subspan(at_created));
  set_date(directory.subspan(at_modified));
}

struct KeyList {
  std::vector<std::span<std::byte>> keys;
  std::span<std::byte> left_over;
};

/// A number of keys and the keys; nothing for other bytes. In files above 2 GB, ROOT leaves some
/// unset bytes after the last key.
std::optional<KeyList> key_list_in(std::span<std::byte> content) {
  constexpr std::size_t most_left_over = 8;
  if (content.size() < sizeof(std::int32_t)) {
    return std::nullopt;
  }
  const auto n_keys = big_endian<std::int32_t>(content.data());
  KeyList list{{}, content.subspan(sizeof(std::int32_t))};
  for (std::int32_t i = 0; i < n_keys; ++i) {
    const auto length = key_length_of(list.left_over);
    if (length == 0) {
      return std::nullopt;
    }
    list.keys.push_back(list.left_over.first(length));
    list.left_over = list.left_over.subspan(length);
  }
  return list.left_over.size() <= most_left_over ? std::optional{list} : std::nullopt;
}

/// Records that ROOT keeps under the class of a directory: the directory (the top one after its
/// name), the list of its keys, and the list of the file's free space.
void set_dates_of_content(std::span<std::byte> content) {
  if (const auto list = key_list_in(content)) {
    for (const auto key : list->keys) {
      set_date(key.subspan(at_date));
    }
    std::ranges::fill(list->left_over, std::byte{});
  } else if (content.size() >= n_directory_bytes && is_directory(content.last(n_directory_bytes))) {
    set_dates_of_directory(content.last(n_directory_bytes));
  }
}

bool is_large_file(std::span<const std::byte> header) {
  return big_endian<std::int32_t>(&header[at_file_version]) >= large_file;
}

}  // namespace

void set_dates(std::span<std::byte> record) {
  if (record.size() == n_directory_bytes && is_directory(record)) {
    return set_dates_of_directory(record);
  }
  const auto key_length = key_length_of(record);
  if (key_length == 0) {
    return;
  }
  set_date(record.subspan(at_date));
  const auto type = class_of(record.first(key_length));
  const auto n_content = static_cast<std::size_t>(
      std::max(big_endian<std::int32_t>(&record[at_object_length]), std::int32_t{0}));
  const bool is_of_directory = type == "TFile" || type == "TDirectory" || type == "TDirectoryFile";
  if (is_of_directory && key_length + n_content <= record.size()) {
    set_dates_of_content(record.subspan(key_length, n_content));
  }
}

std::span<std::byte> uuid_in_header(std::span<std::byte> header) {
  return header.subspan(at_uuid + (is_large_file(header) ? n_more_before_uuid : 0), sizeof(Uuid));
}

DirectoryPlace top_directory(std::span<const std::byte> header) {
  const auto at = at_n_name_bytes + (is_large_file(header) ? n_more_before_name : 0);
  const auto begin = big_endian<std::int32_t>(&header[at_begin]);
  return {begin, begin + big_endian<std::int32_t>(&header[at])};
}

std::span<std::byte> uuid_in_directory(std::span<std::byte> directory) {
  if (!is_directory(directory)) {
    return {};
  }
  const std::size_t n_places = is_large(directory) ? 24 : 12;
  return directory.subspan(at_directory_places + n_places + sizeof(std::int16_t), sizeof(Uuid));
}

bool has_uuid(std::span<const std::byte> directory) {
  return big_endian<std::int16_t>(directory.data()) % more_if_large > 1;
}

namespace {

std::int64_t place_at(const std::byte* at, bool is_large) {
  return is_large ? big_endian<std::int64_t>(at) : big_endian<std::int32_t>(at);
}

/// A place and a number of bytes.
RecordPlace record_at(const std::byte* at, bool is_large) {
  return {place_at(at, is_large), big_endian<std::int32_t>(at + (is_large ? 8 : 4))};
}

}  // namespace

FileHeader parse_header(std::span<const std::byte> header) {
  const bool is_large = is_large_file(header);
  const std::size_t size = is_large ? 8 : 4;
  const auto at_info = at_classes + (is_large ? n_more_before_name : 0);
  return {big_endian<std::int32_t>(&header[at_begin]), place_at(&header[at_end], is_large),
          record_at(&header[at_end + size], is_large), record_at(&header[at_info], is_large),
          big_endian<std::int32_t>(&header[at_compression + (is_large ? n_more_before_name : 0)])};
}

RecordPlace parse_record(std::span<const std::byte> first_bytes) {
  if (first_bytes.size() < sizeof(std::int32_t)) {
    return {};
  }
  const auto n_bytes = big_endian<std::int32_t>(first_bytes.data());
  if (n_bytes < 0 || first_bytes.size() < n_record_bytes) {
    return {0, std::min(n_bytes, 0)};
  }
  return {place_at(&first_bytes[at_places], is_large(first_bytes.subspan(at_version))), n_bytes};
}

DirectoryRecord parse_directory(std::span<const std::byte> directory) {
  const bool large = is_large(directory);
  const auto* places = &directory[at_directory_places];
  return {big_endian<std::int16_t>(directory.data()) - (large ? more_if_large : 0),
          big_endian<std::int32_t>(&directory[at_n_before]),
          place_at(places, large),
          {place_at(places + (large ? 16 : 8), large),
           big_endian<std::int32_t>(&directory[at_n_key_list])}};
}

std::optional<std::vector<RecordPlace>> keys_in(std::span<std::byte> list_record) {
  const auto key_length = key_length_of(list_record);
  const auto list = key_list_in(list_record.subspan(key_length));
  if (key_length == 0 || !list) {
    return std::nullopt;
  }
  std::vector<RecordPlace> keys;
  for (const auto key : list->keys) {
    keys.push_back(parse_record(key));
  }
  return keys;
}

}  // namespace forkrun::root_io
