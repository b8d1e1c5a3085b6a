#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forkrun/bytes/byte_source.hpp>

namespace forkrun {

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
