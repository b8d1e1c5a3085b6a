#include <forkrun/formats/root_file/file_outline.hpp>

#include <string_view>
#include <utility>

#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_record.hpp>
#include <forkrun/formats/root_file/key_path.hpp>
#include <forkrun/formats/root_file/object_stream.hpp>

namespace forkrun::root_io {

std::string uuid_text(std::span<const std::byte> uuid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    const auto byte = std::to_integer<unsigned>(uuid[i]);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

namespace {

constexpr auto require = ObjectStream::require;

/// None if it is damaged.
std::optional<std::vector<std::byte>> uncompressed(std::span<const std::byte> payload,
                                                   std::size_t n_bytes) {
  try {
    return restored(payload, n_bytes);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

FileKey parse_file_key(ObjectStream& from) {
  constexpr std::int16_t oldest = 2, large = 1000;
  FileKey key;
  key.n_bytes = from.number<std::int32_t>();
  const auto version = from.number<std::int16_t>();
  require(version >= oldest);
  key.n_object_bytes = from.number<std::int32_t>();
  from.skip<std::uint32_t>();  // date
  key.key_length = from.number<std::int16_t>();
  key.cycle = from.number<std::int16_t>();
  key.place = version > large ? from.number<std::int64_t>() : from.number<std::int32_t>();
  key.folder = version > large ? from.number<std::int64_t>() : from.number<std::int32_t>();
  key.type = from.text();
  key.name = from.text();
  key.title = from.text();
  require(key.key_length > 0 && key.n_bytes >= key.key_length && key.n_object_bytes >= 0);
  return key;
}

std::optional<FileOutline> FileOutline::of(std::int64_t n_bytes, Read read) {
  FileOutline outline{n_bytes, std::move(read)};
  try {
    return outline.open() ? std::optional{std::move(outline)} : std::nullopt;
  } catch (const ObjectStream::Unexpected&) {
    return {};
  }
}

bool FileOutline::open() {
  const auto header = bytes(0, n_header_bytes);
  constexpr std::string_view magic = "root";
  const std::string_view begin{reinterpret_cast<const char*>(header.data()), magic.size()};
  if (begin != magic) {
    return false;
  }
  header_ = parse_header(header);
  if (header_.end != n_bytes_) {
    return false;
  }
  auto directory = bytes(top_directory(header).directory, n_directory_bytes);
  const auto uuid = uuid_in_directory(directory);
  if (uuid.empty()) {
    return false;
  }
  uuid_ = uuid_text(uuid);
  keys_ = keys_of(directory);
  return !keys_.empty();
}

std::vector<std::byte> FileOutline::bytes(std::int64_t place, std::int64_t n_bytes) const {
  require(place >= 0 && n_bytes >= 0 && place <= n_bytes_ - n_bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(n_bytes));
  require(read_(place, bytes));
  return bytes;
}

std::vector<FileKey> FileOutline::keys_of(std::span<const std::byte> directory) const {
  const auto list = parse_directory(directory).key_list;
  const auto record = bytes(list.place, list.n_bytes);
  ObjectStream from{record, 0};
  const auto own = parse_file_key(from);
  require(own.n_bytes == list.n_bytes && own.place == list.place);
  ObjectStream content{std::span{record}.subspan(static_cast<std::size_t>(own.key_length)), 0};
  std::vector<FileKey> keys;
  for (auto n = content.number<std::int32_t>(); n > 0; --n) {
    keys.push_back(parse_file_key(content));
  }
  return keys;
}

/// A directory and the keys in it.
struct FileOutline::Folder {
  const FileOutline* file;
  std::vector<FileKey> listed;

  [[nodiscard]] std::vector<ListedKey> keys() const {
    std::vector<ListedKey> keys;
    for (const auto& key : listed) {
      keys.push_back({key.name, key.cycle, key.is_folder()});
    }
    return keys;
  }
  [[nodiscard]] Folder open(std::size_t number) const {
    const auto& key = listed[number];
    return {file, file->keys_of(file->bytes(key.place + key.key_length, n_directory_bytes))};
  }
};

std::optional<FileKey> FileOutline::find(const std::string& path) const {
  try {
    const auto found = find_by_path(Folder{this, keys_}, path);
    return found ? std::optional{found->first.listed[found->second]} : std::nullopt;
  } catch (const ObjectStream::Unexpected&) {
    return {};
  }
}

void FileOutline::add_objects(const std::vector<FileKey>& keys, const std::string& prefix,
                              std::vector<Found>& found, int depth) const {
  constexpr int deepest = 100;
  require(depth < deepest);
  const Folder folder{this, keys};
  for (const auto number : newest_keys(folder.keys())) {
    const auto& key = keys[number];
    found.push_back({prefix + key.name, key});
    if (key.is_folder()) {
      add_objects(folder.open(number).listed, prefix + key.name + "/", found, depth + 1);
    }
  }
}

std::optional<std::vector<FileOutline::Found>> FileOutline::objects() const {
  try {
    std::vector<Found> found;
    add_objects(keys_, "", found, 0);
    return found;
  } catch (const ObjectStream::Unexpected&) {
    return {};
  }
}

std::optional<std::vector<std::byte>> FileOutline::object(const FileKey& key) const {
  try {
    require(is_possible_size(key.n_object_bytes, key.n_bytes - key.key_length));
    const auto record = bytes(key.place, key.n_bytes);
    ObjectStream from{record, 0};
    const auto own = parse_file_key(from);
    require(own.place == key.place && own.n_bytes == key.n_bytes && own.name == key.name &&
            own.key_length == key.key_length && own.n_object_bytes == key.n_object_bytes);
    return uncompressed(std::span{record}.subspan(static_cast<std::size_t>(key.key_length)),
                        static_cast<std::size_t>(key.n_object_bytes));
  } catch (const ObjectStream::Unexpected&) {
    return {};
  }
}

}  // namespace forkrun::root_io
