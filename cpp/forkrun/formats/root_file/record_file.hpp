#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun::root_io {

/// A ROOT file that records are written to, one behind the other.
class RecordFile {
 public:
  RecordFile() = default;
  virtual ~RecordFile() = default;
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Takes room for so many bytes at the end of the file; gives the place.
  [[nodiscard]] virtual std::int64_t allocate(std::size_t n_bytes) = 0;
  /// Writes bytes at their allocated place. `sizes`: of the records that they consist of: the
  /// file's UUID does not depend on how many of them are written at once. \throws OutputError
  virtual void write_records(std::int64_t place, std::span<const std::byte> bytes,
                             std::span<const std::size_t> sizes) = 0;
  void write(std::int64_t place, std::span<const std::byte> bytes) {
    const auto size = bytes.size();
    write_records(place, bytes, {&size, 1});
  }
  /// Place of the file's top directory, as keys note it.
  [[nodiscard]] virtual std::int64_t seek_directory() const = 0;

 protected:
  /// Of a new file, before its first record: `hole_in_new_files` bytes that are not used.
  void leave_hole();
};

/// 0 but in tests, whose files so are as large as they like without taking that room on the disk.
[[nodiscard]] std::int64_t& hole_in_new_files();

}  // namespace forkrun::root_io
