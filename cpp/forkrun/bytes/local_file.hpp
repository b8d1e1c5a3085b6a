#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forkrun/bytes/byte_source.hpp>

namespace forkrun {

/// Reads from a place of an open file until `into` is full. Returns the number of bytes, fewer only
/// at the end of the file; -1 on an error, with errno.
[[nodiscard]] std::int64_t read_at(int descriptor, std::int64_t place, std::span<std::byte> into);

/// Writes all of `bytes` at a place of an open file. False on an error, with errno.
[[nodiscard]] bool write_at(int descriptor, std::int64_t place, std::span<const std::byte> bytes);

/// Place of ROOT's next read or write. forkrun's own kinds of files keep it themselves and pass the
/// place in each call: ROOT does not notice a failed seek, and would write elsewhere.
class FilePosition {
 public:
  /// Like lseek(2), but -1 for offsets from the end of the file.
  std::int64_t seek(std::int64_t offset, int whence);
  void advance(std::int64_t n_bytes) { value_ += n_bytes; }
  [[nodiscard]] std::int64_t value() const { return value_; }

 private:
  std::int64_t value_{};
};

/// A local file that is open for reading.
class LocalFile final : public ByteSource {
 public:
  /// \throws InputError if it cannot be opened, or has no size, such as a pipe.
  explicit LocalFile(const std::string& path);
  ~LocalFile() override;

  /// False for URLs like "root://server/file".
  [[nodiscard]] static bool is_path(const std::string& path);
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::int64_t n_bytes() const override { return n_bytes_; }
  [[nodiscard]] std::int64_t modified_ns() const override { return modified_ns_; }
  std::int64_t read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) override;
  void expect(std::span<const ByteRange> /*ranges*/, ReadAccount& /*account*/) override {}

 private:
  std::string path_;
  int descriptor_;
  std::int64_t n_bytes_{};
  std::int64_t modified_ns_{};
};

}  // namespace forkrun
