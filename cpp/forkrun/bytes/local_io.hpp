#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// Reads from a place of an open file until `into` is full. Gives the number of bytes, fewer only
/// where the file ends before; -1 if it cannot be read: errno says why.
[[nodiscard]] std::int64_t read_at(int descriptor, std::int64_t place, std::span<std::byte> into);

/// Writes all of `bytes` at a place of an open file. False if it cannot: errno says why.
[[nodiscard]] bool write_at(int descriptor, std::int64_t place, std::span<const std::byte> bytes);

/// Where ROOT will read or write next. forkrun's own kinds of files keep it themselves and name the
/// place in each call: ROOT does not notice a seek that fails, and would write elsewhere.
class FilePosition {
 public:
  /// As lseek(2), but not from the end of the file: -1 then.
  std::int64_t seek(std::int64_t offset, int whence);
  void advance(std::int64_t n_bytes) { value_ += n_bytes; }
  [[nodiscard]] std::int64_t value() const { return value_; }

 private:
  std::int64_t value_{};
};

}  // namespace forkrun
