#include <forkrun/formats/root_file/plain_file.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <ranges>
#include <tuple>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/class_layouts.hpp>
#include <forkrun/formats/root_file/file_outline.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::size_t top = 0;
/// Name of the file in its own records, for any path.
constexpr const char* file_name = "forkrun";

/// Keys have their length in two bytes. \throws OutputError
void check_length(const Key& key, const std::string& path) {
  constexpr std::size_t longest = std::numeric_limits<std::int16_t>::max();
  if (key.length() > longest) {
    throw OutputError(path + ": name and title of \"" + key.name.substr(0, 40) +
                      "…\" have more than 32 kB together, which a ROOT file cannot hold");
  }
}

std::vector<std::string> parts_of(const std::string& object_path) {
  std::vector<std::string> parts(1);
  for (const char letter : object_path) {
    letter == '/' ? static_cast<void>(parts.emplace_back()) : parts.back().push_back(letter);
  }
  return parts;
}

RecordPlace place_of(const Key& key) {
  return {key.place, static_cast<std::int32_t>(key.length() + key.n_stored_bytes)};
}

}  // namespace

PlainFile::PlainFile(const std::string& path, Compression compression, OutputMode mode)
    : path_{path},
      compression_{compression},
      descriptor_{open_output(path, mode)},
      end_{n_header_bytes},
      folders_(1) {
  auto& folder = folders_[top];
  folder.key = {.type = "TFile", .name = file_name, .title = "", .place = n_header_bytes};
  folder.key.n_object_bytes = n_text_bytes(file_name) + n_text_bytes("") + n_directory_bytes;
  folder.key.n_stored_bytes = folder.key.n_object_bytes;
  folder.directory.place = folder.key.place;
  const auto n_bytes = folder.key.length() + folder.key.n_stored_bytes;
  folder.directory.n_name_bytes = n_bytes - n_directory_bytes;
  places_.begin = allocate(n_bytes);
}

PlainFile::PlainFile(const std::string& path, Compression compression)
    : PlainFile{path, compression, OutputMode::create} {
  leave_hole();
}

std::unique_ptr<PlainFile> PlainFile::reopen(const std::string& path,
                                             const WriteAgain& write_again) {
  std::unique_ptr<PlainFile> file{new PlainFile{path, {}, OutputMode::update}};
  if (file->read_back(write_again)) {
    return file;
  }
  close_output(file->descriptor_, path);
  return nullptr;
}

/// Continues after the objects: everything after them will be written again. False if the file was
/// not written by this class, or has other objects.
bool PlainFile::read_back(const WriteAgain& write_again) {
  const auto read = [this](std::int64_t place, std::span<std::byte> into) {
    const auto n = read_at(descriptor_, place, into);
    if (n < 0) {
      fail_output(path_, "cannot be read", errno);
    }
    return n == static_cast<std::int64_t>(into.size());
  };
  const auto outline =
      FileOutline::of(static_cast<std::int64_t>(std::filesystem::file_size(path_)), read);
  auto& folder = folders_[top];
  const auto expected = top_record();
  std::vector<std::byte> record(expected.size());
  if (!outline || !read(n_header_bytes, record) ||
      !std::equal(record.begin(), record.end() - n_directory_bytes, expected.begin())) {
    return false;
  }
  const auto& header = outline->header();
  const auto list = parse_directory(std::span{record}.last(n_directory_bytes)).key_list;
  const bool is_in_order = list.place + list.n_bytes == header.classes.place &&
                           header.classes.place + header.classes.n_bytes == header.free_room.place;
  std::vector<std::byte> keys(static_cast<std::size_t>(list.n_bytes));
  if (!is_in_order || !read(list.place, keys) || !note_objects(*outline, write_again)) {
    return false;
  }
  const auto n_before = key_length_of(keys) + sizeof(std::int32_t);
  folder.keys.assign(keys.begin() + static_cast<std::ptrdiff_t>(n_before), keys.end());
  compression_ = Compression::of_settings(header.compression);
  end_ = list.place;
  digest_.add(std::as_bytes(std::span{outline->uuid()}));
  reopened_ = {end_, digest_};
  return true;
}

/// Their names, and the classes in them. False if some are unknown.
bool PlainFile::note_objects(const FileOutline& outline, const WriteAgain& write_again) {
  for (const auto& key : outline.keys()) {
    ObjectWriter like_it{0};
    if (!write_again(outline, key, like_it) || !folders_[top].names.insert(key.name).second) {
      return false;
    }
    ++folders_[top].n_keys;
    note_classes(key.type, like_it);
  }
  return true;
}

void PlainFile::note_classes(const std::string& type, const ObjectWriter& object) {
  classes_.objects.insert(type);
  classes_.objects.merge(std::set{object.classes().objects});
  classes_.null_pointers.merge(std::set{object.classes().null_pointers});
}

PlainFile::~PlainFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

std::int64_t PlainFile::allocate(std::size_t n_bytes) {
  const auto place = end_;
  end_ += static_cast<std::int64_t>(n_bytes);
  return place;
}

std::int64_t PlainFile::seek_directory() const { return folders_[top].directory.place; }

void PlainFile::write_records(std::int64_t place, std::span<const std::byte> bytes,
                              std::span<const std::size_t> sizes) {
  std::size_t n_added = 0;
  for (const auto size : sizes) {
    digest_.add(static_cast<std::uint64_t>(place) + n_added);
    digest_.add(bytes.subspan(n_added, size));
    n_added += size;
  }
  if (!write_at(descriptor_, place, bytes)) {
    fail_to_write(path_, errno);
  }
}

void PlainFile::add(const std::string& object_path, const std::string& type,
                    const std::string& title, const std::function<void(ObjectWriter&)>& write) {
  auto parts = parts_of(object_path);
  auto& name = parts.back();
  name.erase(name.find_last_not_of(' ') + 1);  // ROOT finds no name with blanks at its end
  if (std::ranges::any_of(parts, &std::string::empty)) {
    throw OutputError(path_ + ": \"" + object_path + "\" has a part without a name");
  }
  std::size_t folder = top;
  for (const auto& part : std::span{parts}.first(parts.size() - 1)) {
    folder = folder_in(folder, part);
  }
  Key key{.type = type, .name = name, .title = title, .place = end_};
  key.directory = folders_[folder].directory.place;
  check_length(key, path_);
  ObjectWriter object{key.length()};
  write(object);
  append(key, object.bytes(), compression_);
  enter(folder, key);
  note_classes(type, object);
}

/// Writes a record at the end of the file, and its place and sizes into the key.
void PlainFile::append(Key& key, std::span<const std::byte> object, Compression compression) {
  key.place = end_;
  key.n_object_bytes = object.size();
  const auto payload = stored(object, compression);
  key.n_stored_bytes = payload.size();
  auto record = key.bytes();
  record.insert(record.end(), payload.begin(), payload.end());
  write(allocate(record.size()), record);
}

void PlainFile::enter(std::size_t folder, const Key& key) {
  auto& entered = folders_[folder];
  if (!entered.names.insert(key.name).second) {
    throw OutputError(path_ + ": two objects or folders are called \"" + key.name +
                      "\" in one folder");
  }
  const auto bytes = key.bytes();
  entered.keys.insert(entered.keys.end(), bytes.begin(), bytes.end());
  ++entered.n_keys;
}

std::size_t PlainFile::folder_in(std::size_t parent, const std::string& name) {
  const auto& folders = folders_[parent].folders;
  const auto found = std::ranges::find_if(
      folders, [&](std::size_t number) { return folders_[number].key.name == name; });
  return found != folders.end() ? *found : make_folder(parent, name);
}

std::size_t PlainFile::make_folder(std::size_t parent, const std::string& name) {
  Folder folder;
  folder.key = {.type = "TDirectory", .name = name, .title = name, .place = end_};
  folder.key.directory = folders_[parent].directory.place;
  folder.key.n_object_bytes = n_directory_bytes;
  folder.key.n_stored_bytes = n_directory_bytes;
  folder.directory.place = end_;
  folder.directory.parent = folder.key.directory;
  folder.directory.n_name_bytes = folder.key.length();
  enter(parent, folder.key);
  static_cast<void>(allocate(folder.key.length() + n_directory_bytes));
  folders_.push_back(folder);
  folders_[parent].folders.push_back(folders_.size() - 1);
  return folders_.size() - 1;
}

/// Folders in a folder precede it.
void PlainFile::write_key_lists(std::size_t number) {
  for (const auto inner : folders_[number].folders) {
    write_key_lists(inner);
  }
  auto& folder = folders_[number];
  ObjectWriter n_keys{0};
  n_keys.number(folder.n_keys);
  folder.keys.insert(folder.keys.begin(), n_keys.bytes().begin(), n_keys.bytes().end());
  Key key = folder.key;
  key.directory = folder.directory.place;
  append(key, folder.keys, {});
  folder.directory.key_list = key.place;
  folder.directory.n_key_list_bytes = key.length() + key.n_stored_bytes;
}

RecordPlace PlainFile::write_class_layouts() {
  Key key{.type = "TList", .name = "StreamerInfo", .title = "Doubly linked list", .place = end_};
  key.directory = folders_[top].directory.place;
  ObjectWriter list{key.length()};
  write_layouts(list, layouts_of(classes_));
  append(key, list.bytes(), compression_);
  return place_of(key);
}

RecordPlace PlainFile::write_free_room() {
  Key key = folders_[top].key;
  key.place = end_;
  key.directory = folders_[top].directory.place;
  const auto n_before = static_cast<std::int64_t>(key.length());
  const auto n_bytes = static_cast<std::int64_t>(free_room_after(end_ + n_before).size());
  append(key, free_room_after(end_ + n_before + n_bytes), {});
  return place_of(key);
}

void PlainFile::write_folders() {
  for (const auto& folder : folders_ | std::views::drop(1)) {
    auto record = folder.key.bytes();
    const auto directory = folder.directory.bytes();
    record.insert(record.end(), directory.begin(), directory.end());
    write(folder.key.place, record);
  }
}

std::vector<std::byte> PlainFile::top_record() const {
  const auto& folder = folders_[top];
  ObjectWriter names{0};
  names.text(file_name);
  names.text("");
  auto record = folder.key.bytes();
  record.insert(record.end(), names.bytes().begin(), names.bytes().end());
  const auto directory = folder.directory.bytes();
  record.insert(record.end(), directory.begin(), directory.end());
  return record;
}

void PlainFile::write_top(const Uuid& uuid) {
  auto& folder = folders_[top];
  folder.directory.uuid = uuid;
  write(folder.key.place, top_record());
  auto places = places_;
  places.compression = compression_.settings();
  write(0, Header{places, folder.directory.n_name_bytes, uuid}.bytes());
}

std::int64_t PlainFile::close() {
  write_end();
  return finish_output(descriptor_, path_);
}

void PlainFile::close_to_reopen() {
  write_end();
  close_output(descriptor_, path_);
}

void PlainFile::restore() {
  std::tie(end_, digest_) = reopened_;
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(end_));
  close_to_reopen();
}

void PlainFile::write_end() {
  write_key_lists(top);
  places_.classes = write_class_layouts();
  places_.free_room = write_free_room();
  places_.end = end_;
  write_folders();
  write_top({});
  write_top(uuid_of(digest_));
}

void PlainFile::abandon() noexcept {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace forkrun::root_io
