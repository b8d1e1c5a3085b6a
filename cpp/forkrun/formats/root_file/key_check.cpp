#include <forkrun/formats/root_file/key_check.hpp>

#include <string_view>
#include <utility>
#include <vector>

#include <forkrun/formats/root_file/file_record.hpp>
#include <forkrun/formats/root_file/object_stream.hpp>

namespace forkrun::root_io {

namespace {

struct Disagreement {
  std::string what;
};

bool are_same(const FileKey& one, const FileKey& other) {
  return one.place == other.place && one.n_bytes == other.n_bytes &&
         one.n_object_bytes == other.n_object_bytes && one.key_length == other.key_length &&
         one.name == other.name &&
         (one.type == other.type || (one.is_folder() && other.is_folder()));
}

std::string named(const std::string& folder) {
  return folder.empty() ? "the list of its objects" : "the list of objects in \"" + folder + "\"";
}

class KeyCheck {
 public:
  KeyCheck(std::int64_t n_bytes, const FileOutline::Read& read) : n_bytes_{n_bytes}, read_{read} {}

  void check() {
    const auto header = bytes(0, n_header_bytes);
    constexpr std::string_view magic = "root";
    const std::string_view begin{reinterpret_cast<const char*>(header.data()), magic.size()};
    if (begin == magic) {
      free_room_ = parse_header(header).free_room;
      check_folder(top_directory(header).directory, "", 0);
    }
  }

 private:
  [[nodiscard]] std::vector<std::byte> bytes(std::int64_t place, std::int64_t n_bytes) const {
    ObjectStream::require(place >= 0 && n_bytes >= 0 && place <= n_bytes_ - n_bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(n_bytes));
    ObjectStream::require(read_(place, bytes));
    return bytes;
  }

  /// `folder`: its path; "" for the file.
  void check_folder(std::int64_t place, const std::string& folder, int depth) const {
    constexpr int deepest = 100;
    auto directory = bytes(place, n_directory_bytes);
    if (uuid_in_directory(directory).empty() || depth == deepest) {
      return;
    }
    const auto list = key_list_of(directory);
    if (list == RecordPlace{}) {
      return;
    }
    for (const auto& key : keys_of(list, folder)) {
      check_key(key, folder);
      if (key.is_folder()) {
        check_folder(key.place + key.key_length,
                     folder.empty() ? key.name : folder + "/" + key.name, depth + 1);
      }
    }
  }

  [[nodiscard]] std::vector<FileKey> keys_of(const RecordPlace& list,
                                             const std::string& folder) const {
    std::vector<FileKey> keys;
    std::int32_t n_keys = 0;
    try {
      const auto record = bytes(list.place, list.n_bytes);
      ObjectStream from{record, 0};
      const auto own = parse_file_key(from);
      // ROOT goes by place and size in the directory; some programs write others in the key.
      const bool has_size =
          own.n_bytes == list.n_bytes || own.key_length + own.n_object_bytes == list.n_bytes;
      ObjectStream::require((own.place == list.place || own.place == 0) && has_size);
      ObjectStream content{std::span{record}.subspan(static_cast<std::size_t>(own.key_length)), 0};
      n_keys = content.number<std::int32_t>();
      ObjectStream::require(n_keys >= 0);
      while (std::cmp_less(keys.size(), n_keys)) {
        keys.push_back(parse_file_key(content));
      }
      if (has_more(content)) {
        throw Disagreement{named(folder) + " tells " + std::to_string(n_keys) +
                           " of them, but there are more"};
      }
    } catch (const ObjectStream::Unexpected&) {
      throw Disagreement{named(folder) +
                         (n_keys > 0 ? " tells " + std::to_string(n_keys) + " of them, and " +
                                           std::to_string(keys.size()) + " can be read"
                                     : std::string{" cannot be read"})};
    }
    return keys;
  }

  void check_key(const FileKey& key, const std::string& folder) const {
    if (!is_at_its_place(key)) {
      throw Disagreement{named(folder) + " tells of \"" + key.name + "\" (" + key.type +
                         "), which is not at byte " + std::to_string(key.place)};
    }
  }

  [[nodiscard]] bool is_at_its_place(const FileKey& key) const {
    try {
      const auto head = bytes(key.place, key.key_length);
      ObjectStream from{head, 0};
      return key.place + key.n_bytes <= n_bytes_ && are_same(parse_file_key(from), key);
    } catch (const ObjectStream::Unexpected&) {
      return false;
    }
  }

  /// Whether an object of the file follows in a list that should have ended. Some programs leave
  /// keys of deleted objects there: their room is free.
  [[nodiscard]] bool has_more(ObjectStream from) const {
    try {
      const auto key = parse_file_key(from);
      return is_at_its_place(key) && !is_free(key.place);
    } catch (const ObjectStream::Unexpected&) {
      return false;
    }
  }

  [[nodiscard]] bool is_free(std::int64_t place) const {
    constexpr std::int16_t large = 1000;
    const auto record = bytes(free_room_.place, free_room_.n_bytes);
    ObjectStream from{record, 0};
    from.seek(static_cast<std::size_t>(parse_file_key(from).key_length));
    while (from.at() < record.size()) {
      const bool is_large = from.number<std::int16_t>() > large;
      const auto first = is_large ? from.number<std::int64_t>() : from.number<std::int32_t>();
      const auto last = is_large ? from.number<std::int64_t>() : from.number<std::int32_t>();
      if (first <= place && place <= last) {
        return true;
      }
    }
    return false;
  }

  std::int64_t n_bytes_;
  const FileOutline::Read& read_;
  RecordPlace free_room_;
};

}  // namespace

std::string disagreeing_key(std::int64_t n_bytes, const FileOutline::Read& read) {
  try {
    KeyCheck{n_bytes, read}.check();
  } catch (const Disagreement& disagreement) {
    return disagreement.what;
  } catch (const ObjectStream::Unexpected&) {
    return "";  // ROOT has to say what it is
  }
  return "";
}

}  // namespace forkrun::root_io
