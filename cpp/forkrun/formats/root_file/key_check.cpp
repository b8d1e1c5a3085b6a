#include <forkrun/formats/root_file/key_check.hpp>

#include <algorithm>
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

/// The dates of a folder may differ, and its class: "TDirectory" and "TDirectoryFile".
bool are_same(const FileKey& one, const FileKey& other) {
  return one.place == other.place && one.n_bytes == other.n_bytes &&
         one.n_object_bytes == other.n_object_bytes && one.key_length == other.key_length &&
         one.cycle == other.cycle && one.folder == other.folder && one.name == other.name &&
         one.title == other.title &&
         (one.type == other.type || (one.is_folder() && other.is_folder()));
}

std::string named(const std::string& folder) {
  return folder.empty() ? "the list of its objects" : "the list of objects in \"" + folder + "\"";
}

class KeyCheck {
 public:
  KeyCheck(std::int64_t n_bytes, const FileOutline::Read& read, Unlisted unlisted)
      : n_bytes_{n_bytes}, read_{read}, unlisted_{unlisted} {}

  void check() {
    const auto header = bytes(0, n_header_bytes);
    constexpr std::string_view magic = "root";
    const std::string_view begin{reinterpret_cast<const char*>(header.data()), magic.size()};
    if (begin == magic) {
      header_ = parse_header(header);
      const auto [record, directory] = top_directory(header);
      check_top({"", record, directory - record});
      check_record(header_.classes, "the descriptions of its classes");
    }
  }

 private:
  [[nodiscard]] std::vector<std::byte> bytes(std::int64_t place, std::int64_t n_bytes) const {
    ObjectStream::require(place >= 0 && n_bytes >= 0 && place <= n_bytes_ - n_bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(n_bytes));
    ObjectStream::require(read_(place, bytes));
    return bytes;
  }

  /// `path`: "" for the file; `n_before`: bytes of its record before the directory.
  struct Folder {
    std::string path;
    std::int64_t record{};
    std::int64_t n_before{};
  };

  /// Its record begins with a key; name and title of the file follow.
  void check_top(const Folder& top) const {
    try {
      const auto before = bytes(top.record, top.n_before);
      ObjectStream from{before, 0};
      const auto key = parse_file_key(from);
      ObjectStream::require(key.place == top.record && std::cmp_equal(from.at(), key.key_length));
      static_cast<void>(from.text());
      static_cast<void>(from.text());
      ObjectStream::require(from.at() == before.size());
    } catch (const ObjectStream::Unexpected&) {
      throw Disagreement{"what it says of its top folder is damaged"};
    }
    check_folder(top, 0);
  }

  void check_folder(const Folder& folder, int depth) const {
    constexpr int deepest = 100;
    const auto directory = directory_of(folder);
    if (depth == deepest || directory.key_list == RecordPlace{}) {
      return;
    }
    for (const auto& key : keys_of(directory, folder.path)) {
      check_key(key, folder.path);
      if (key.is_folder()) {
        check_folder({folder.path.empty() ? key.name : folder.path + "/" + key.name, key.place,
                      key.key_length},
                     depth + 1);
      }
    }
  }

  /// ROOT reads a folder at its own place, not at its key's.
  [[nodiscard]] DirectoryRecord directory_of(const Folder& folder) const {
    const auto directory =
        parse_directory(bytes(folder.record + folder.n_before, n_directory_bytes));
    if (!is_at(directory, folder)) {
      throw Disagreement{
          "what it says of " +
          (folder.path.empty() ? "its top folder" : "folder \"" + folder.path + "\"") +
          " is damaged"};
    }
    return directory;
  }

  static bool is_at(const DirectoryRecord& directory, const Folder& place) {
    constexpr int newest = 5;
    return directory.version >= 1 && directory.version <= newest &&
           directory.record == place.record && directory.n_before == place.n_before;
  }

  /// Checks that a record is at the header's place, and its key whole.
  void check_record(const RecordPlace& record, const std::string& what) const {
    constexpr std::int32_t longest = 1024;
    if (record == RecordPlace{}) {
      return;
    }
    try {
      const auto first = bytes(record.place, std::min(record.n_bytes, longest));
      ObjectStream from{first, 0};
      const auto key = parse_file_key(from);
      ObjectStream::require(key.place == record.place && key.n_bytes == record.n_bytes &&
                            std::cmp_equal(from.at(), key.key_length));
    } catch (const ObjectStream::Unexpected&) {
      throw Disagreement{"the header tells of " + what + " at byte " +
                         std::to_string(record.place) + ", where they are not"};
    }
  }

  [[nodiscard]] std::vector<FileKey> keys_of(const DirectoryRecord& directory,
                                             const std::string& folder) const {
    const auto& list = directory.key_list;
    std::vector<FileKey> keys;
    std::int32_t n_keys = 0;
    std::size_t n_left_over = 0;
    try {
      const auto record = bytes(list.place, list.n_bytes);
      ObjectStream from{record, 0};
      const auto own = parse_file_key(from);
      // ROOT follows place and size in the directory; some programs write others in the key.
      const bool has_size =
          own.n_bytes == list.n_bytes || own.key_length + own.n_object_bytes == list.n_bytes;
      ObjectStream::require(
          (own.place == list.place || own.place == 0) && has_size &&
          std::cmp_equal(from.at(), own.key_length));  // place of ROOT's next read
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
      n_left_over = record.size() - static_cast<std::size_t>(own.key_length) - content.at();
    } catch (const ObjectStream::Unexpected&) {
      throw Disagreement{named(folder) +
                         (n_keys > 0 ? " tells " + std::to_string(n_keys) + " of them, and " +
                                           std::to_string(keys.size()) + " can be read"
                                     : std::string{" cannot be read"})};
    }
    constexpr std::size_t most_of_root = 8;  // other programs leave more room in lists
    if (n_left_over > most_of_root && unlisted_ == Unlisted::looked_for) {
      check_unlisted(directory, keys, folder);
    }
    return keys;
  }

  /// Searches the records of the file for one that belongs to this folder.
  void check_unlisted(const DirectoryRecord& directory, const std::vector<FileKey>& keys,
                      const std::string& folder) const {
    constexpr int most_records = 10'000;
    auto place = header_.begin;
    for (int i = 0; i < most_records && place < std::min(header_.end, n_bytes_); ++i) {
      const auto n_free = n_free_at(place);
      const auto record = n_free > 0 ? FileKey{} : record_at(place);
      if (n_free == 0 && record.n_bytes == 0) {
        place = after_gap(place);
        continue;
      }
      if (record.folder == directory.record && is_object(record) &&
          place != directory.key_list.place &&
          std::ranges::find(keys, place, &FileKey::place) == keys.end()) {
        throw Disagreement{named(folder) + " does not tell of \"" + record.name + "\" (" +
                           record.type + ") at byte " + std::to_string(place)};
      }
      place += n_free > 0 ? n_free : std::abs(record.n_bytes);
    }
  }

  /// Place of the next record after bytes that belong to none, as other programs leave them; the
  /// end of the file if it is far away.
  [[nodiscard]] std::int64_t after_gap(std::int64_t place) const {
    constexpr std::int64_t longest = 1 << 16;
    const auto end = std::min(place + longest, n_bytes_);
    do {
      ++place;
    } while (place < end && record_at(place).type.empty());
    return place < end ? place : n_bytes_;
  }

  /// Without bytes if there is none; without a class for free room.
  [[nodiscard]] FileKey record_at(std::int64_t place) const {
    constexpr std::int64_t longest = 1024;
    try {
      const auto first = bytes(place, std::min(longest, n_bytes_ - place));
      ObjectStream from{first, 0};
      if (const auto n = ObjectStream{first, 0}.number<std::int32_t>(); n < 0) {
        FileKey room;
        room.n_bytes = n;
        return room;
      }
      auto key = parse_file_key(from);
      return key.place == place ? key : FileKey{};
    } catch (const ObjectStream::Unexpected&) {
      return {};
    }
  }

  /// Whether a record is of a kind that folders list. Lists of keys have the class of their folder.
  [[nodiscard]] bool is_object(const FileKey& record) const {
    if (record.is_folder()) {
      const auto at = record.place + record.key_length;
      return at <= n_bytes_ - std::int64_t{n_directory_bytes} &&
             is_at(parse_directory(bytes(at, n_directory_bytes)),
                   {"", record.place, record.key_length});
    }
    return record.type != "TBasket" && record.type != "RBlob" &&
           record.place != header_.classes.place && record.place != header_.free_room.place;
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
      return is_at_its_place(key) && n_free_at(key.place) == 0;
    } catch (const ObjectStream::Unexpected&) {
      return false;
    }
  }

  /// Bytes from a place on that belong to no record.
  [[nodiscard]] std::int64_t n_free_at(std::int64_t place) const {
    if (header_.free_room == RecordPlace{}) {
      return 0;
    }
    try {
      const auto record = bytes(header_.free_room.place, header_.free_room.n_bytes);
      ObjectStream from{record, 0};
      from.seek(static_cast<std::size_t>(parse_file_key(from).key_length));
      while (from.at() < record.size()) {
        if (const auto [first, last] = next_room(from); first <= place && place <= last) {
          return last - place + 1;
        }
      }
      return 0;
    } catch (const ObjectStream::Unexpected&) {
      throw Disagreement{"the list of its free room cannot be read"};
    }
  }

  /// First and last byte.
  static std::pair<std::int64_t, std::int64_t> next_room(ObjectStream& from) {
    constexpr std::int16_t large = 1000;
    const bool is_large = from.number<std::int16_t>() > large;
    const auto number = [&] {
      return is_large ? from.number<std::int64_t>() : from.number<std::int32_t>();
    };
    const auto first = number();
    return {first, number()};
  }

  std::int64_t n_bytes_;
  const FileOutline::Read& read_;
  Unlisted unlisted_;
  FileHeader header_;
};

}  // namespace

std::string disagreeing_key(std::int64_t n_bytes, const FileOutline::Read& read,
                            Unlisted unlisted) {
  try {
    KeyCheck{n_bytes, read, unlisted}.check();
  } catch (const Disagreement& disagreement) {
    return disagreement.what;
  } catch (const ObjectStream::Unexpected&) {
    return "";  // ROOT has to report it
  }
  return "";
}

}  // namespace forkrun::root_io
