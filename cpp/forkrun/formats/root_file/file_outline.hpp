#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/file_record.hpp>

namespace forkrun::root_io {

class ObjectStream;

/// Entry of a directory for an object in it.
struct FileKey {
  std::string type;
  std::string name;
  std::string title;
  int cycle{};
  std::int64_t place{};
  std::int64_t folder{};          ///< begin of its directory's record
  std::int32_t n_bytes{};         ///< of its record, with the key
  std::int32_t n_object_bytes{};  ///< uncompressed
  int key_length{};

  [[nodiscard]] bool is_folder() const { return type == "TDirectoryFile" || type == "TDirectory"; }
};

/// The next key of a directory's list, or of a record. \throws ObjectStream::Unexpected
[[nodiscard]] FileKey parse_file_key(ObjectStream& from);
/// A UUID as ROOT writes it: 8-4-4-4-12 digits.
[[nodiscard]] std::string uuid_text(std::span<const std::byte> uuid);

/// Header and directories of a file, read without ROOT.
class FileOutline {
 public:
  /// Fills bytes from a place of the file; false at the end of the file. Its exceptions are passed
  /// on: a later try may succeed.
  using Read = std::function<bool(std::int64_t, std::span<std::byte>)>;

  /// None if the file was not closed properly by ROOT, or is of an old form: ROOT itself may know
  /// more.
  [[nodiscard]] static std::optional<FileOutline> of(std::int64_t n_bytes, Read read);

  [[nodiscard]] const std::string& uuid() const { return uuid_; }
  [[nodiscard]] const FileHeader& header() const { return header_; }
  /// Keys of the top directory.
  [[nodiscard]] const std::vector<FileKey>& keys() const { return keys_; }
  /// The newest object of this name, with the names of its directories before it: "a/b"; or of a
  /// cycle, "a/b;2". None if there is none, or it is unclear.
  [[nodiscard]] std::optional<FileKey> find(const std::string& path) const;
  struct Found {
    std::string path;
    FileKey key;
  };
  /// The newest objects and folders of each name, including those in folders. None if a folder is
  /// not in ROOT's form.
  [[nodiscard]] std::optional<std::vector<Found>> objects() const;
  /// Uncompressed. None if the sizes do not agree.
  [[nodiscard]] std::optional<std::vector<std::byte>> object(const FileKey& key) const;

 private:
  struct Folder;
  FileOutline(std::int64_t n_bytes, Read read) : n_bytes_{n_bytes}, read_{std::move(read)} {}

  bool open();
  void add_objects(const std::vector<FileKey>& keys, const std::string& prefix,
                   std::vector<Found>& found, int depth) const;
  [[nodiscard]] std::vector<std::byte> bytes(std::int64_t place, std::int64_t n_bytes) const;
  [[nodiscard]] std::vector<FileKey> keys_of(std::span<const std::byte> directory) const;

  std::int64_t n_bytes_;
  Read read_;
  std::string uuid_;
  FileHeader header_;
  std::vector<FileKey> keys_;  ///< of the top directory
};

}  // namespace forkrun::root_io
