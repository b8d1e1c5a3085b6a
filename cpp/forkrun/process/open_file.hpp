#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace forkrun {

/// A file that is read from its begin to its end. \throws InputError if it cannot be.
class OpenFile {
 public:
  explicit OpenFile(std::string path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// The next bytes, at most as many as the buffer holds; none at the end.
  [[nodiscard]] std::span<std::byte> read(std::span<std::byte> buffer) const;

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  int descriptor_;
};

}  // namespace forkrun
