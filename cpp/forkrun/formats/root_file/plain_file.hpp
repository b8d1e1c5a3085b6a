#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/formats/root_file/key.hpp>
#include <forkrun/formats/root_file/object_writer.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>
#include <forkrun/formats/root_file/record_file.hpp>

namespace forkrun::root_io {

class FileOutline;
struct FileKey;

/// A new ROOT file, written without ROOT, whose bytes depend only on its content: dates are
/// `reproducible_date`, the UUID is computed from all other bytes. Except for the UUID it is, byte
/// for byte, ReproducibleFile's for the same objects.
class PlainFile final : public RecordFile {
 public:
  /// \throws OutputError if the file cannot be opened
  PlainFile(const std::string& path, Compression compression);
  /// Writes an object of an existing file again, unchanged; false if its form is unknown.
  using WriteAgain = std::function<bool(const FileOutline&, const FileKey&, ObjectWriter&)>;
  /// Opens a file for additions: nullptr unless this class has written it, with only objects in its
  /// top folder that `write_again` knows. \throws OutputError
  [[nodiscard]] static std::unique_ptr<PlainFile> reopen(const std::string& path,
                                                         const WriteAgain& write_again);
  ~PlainFile() override;
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  /// Adds an object of a class of `class_layouts`, at "folder/name"; makes its folders if need be.
  /// `write` writes its members, at most most_object_bytes. \throws OutputError
  void add(const std::string& object_path, const std::string& type, const std::string& title,
           const std::function<void(ObjectWriter&)>& write);

  [[nodiscard]] std::int64_t allocate(std::size_t n_bytes) override;
  void write_records(std::int64_t place, std::span<const std::byte> bytes,
                     std::span<const std::size_t> sizes) override;
  [[nodiscard]] std::int64_t seek_directory() const override;

  std::int64_t close() override;
  /// Closes without the sync, for a file that will be continued. \throws OutputError
  void close_to_reopen();
  /// Drops the records that were added since `reopen`, and closes: the file is as it was.
  /// \throws OutputError
  void restore();
  void abandon() noexcept override;

 private:
  struct Folder {
    Key key;  ///< of its record
    Directory directory;
    std::vector<std::size_t> folders;
    std::set<std::string> names;  ///< of its objects and folders
    std::vector<std::byte> keys;
    std::int32_t n_keys{};
  };

  PlainFile(const std::string& path, Compression compression, OutputMode mode);
  bool read_back(const WriteAgain& write_again);
  bool note_objects(const FileOutline& outline, const WriteAgain& write_again);
  void note_classes(const std::string& type, const ObjectWriter& object);
  [[nodiscard]] std::vector<std::byte> top_record() const;
  [[nodiscard]] std::size_t folder_in(std::size_t parent, const std::string& name);
  [[nodiscard]] std::size_t make_folder(std::size_t parent, const std::string& name);
  void enter(std::size_t folder, const Key& key);
  void append(Key& key, std::span<const std::byte> object, Compression compression);
  void write_key_lists(std::size_t folder);
  [[nodiscard]] RecordPlace write_class_layouts();
  [[nodiscard]] RecordPlace write_free_room();
  void write_folders();
  void write_top(const Uuid& uuid);
  void write_end();

  std::string path_;
  Compression compression_;
  int descriptor_;
  std::int64_t end_;
  ContentDigest digest_;
  std::pair<std::int64_t, ContentDigest> reopened_;  ///< end and digest then
  std::vector<Folder> folders_;                      ///< the first is the file
  ClassesInFile classes_;
  FileHeader places_;
};

}  // namespace forkrun::root_io
