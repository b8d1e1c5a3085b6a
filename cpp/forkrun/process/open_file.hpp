#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace forkrun {

/// A file read from begin to end. \throws InputError if it cannot be read.
class OpenFile {
 public:
  explicit OpenFile(std::string path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// The next bytes, at most as many as fit into the buffer; none at the end.
  [[nodiscard]] std::span<std::byte> read(std::span<std::byte> buffer) const;

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  int descriptor_;
};

}  // namespace forkrun
