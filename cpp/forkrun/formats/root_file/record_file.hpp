#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun::root_io {

/// A ROOT file for records, written one after the other.
class RecordFile {
 public:
  RecordFile() = default;
  virtual ~RecordFile() = default;
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Allocates room for so many bytes at the end of the file; returns the place.
  [[nodiscard]] virtual std::int64_t allocate(std::size_t n_bytes) = 0;
  /// Writes bytes at their allocated place. `sizes`: of the records in them: the file's UUID does
  /// not depend on how many of them are written at once. \throws OutputError
  virtual void write_records(std::int64_t place, std::span<const std::byte> bytes,
                             std::span<const std::size_t> sizes) = 0;
  void write(std::int64_t place, std::span<const std::byte> bytes) {
    const auto size = bytes.size();
    write_records(place, bytes, {&size, 1});
  }
  /// Place of the file's top directory, as noted in keys.
  [[nodiscard]] virtual std::int64_t seek_directory() const = 0;

  /// Writes the file's own description, reads it as its readers will, syncs and closes it; returns
  /// its size. Without this call, the file is left incomplete. \throws OutputError
  virtual std::int64_t close() = 0;
  /// Closes and removes the file.
  virtual void abandon() noexcept = 0;

 protected:
  /// For a new file, before its first record: `hole_in_new_files` unused bytes.
  void leave_hole();
};

/// 0 except in tests, which make files of any size without taking that room on the disk.
[[nodiscard]] std::int64_t& hole_in_new_files();

}  // namespace forkrun::root_io
