#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace forkrun {

/// A file of this machine that is open for reading.
class LocalFile {
 public:
  /// \throws InputError if it cannot be opened, or is a pipe or the like: those have no size.
  explicit LocalFile(const std::string& path);
  ~LocalFile();
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;

  /// Not "root://server/file", which has no place in a file system.
  [[nodiscard]] static bool is_path(const std::string& path);
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::int64_t n_bytes() const { return n_bytes_; }
  /// Since 1970.
  [[nodiscard]] std::int64_t modified_ns() const { return modified_ns_; }
  /// Fills `into` from this place; gives the number of bytes, fewer only where the file ends
  /// before. Any thread. \throws InputError if it cannot be read.
  std::int64_t read(std::int64_t place, std::span<std::byte> into) const;

 private:
  std::string path_;
  int descriptor_;
  std::int64_t n_bytes_{};
  std::int64_t modified_ns_{};
};

/// For an error: why this place of a file was not read; "" if nobody knows.
[[nodiscard]] std::string cannot_read(const std::string& path, std::int64_t place,
                                      const std::string& why);

}  // namespace forkrun
