#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

/// Bytes of the input that nobody gives: a server was asked until its time was over.
class UnreadBytes : public InputError {
 public:
  using InputError::InputError;
};

/// A stretch of a file.
struct ByteRange {
  std::int64_t place{};
  std::int64_t n_bytes{};
  bool has_checksum = false;  ///< of its own, which whoever reads it compares

  [[nodiscard]] std::int64_t end() const { return place + n_bytes; }
};

/// What was asked of the disk or of a server.
struct ReadAccount {
  std::int64_t calls{};
  std::int64_t bytes{};
  std::int64_t cached_bytes{};  ///< of a server's file, that were on this machine
};

/// The bytes of a file that is open for reading. Any thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] virtual std::int64_t n_bytes() const = 0;
  /// Since 1970; 0: not known.
  [[nodiscard]] virtual std::int64_t modified_ns() const = 0;
  /// Fills `into` from this place; gives the number of bytes, fewer only where the file ends
  /// before. \throws InputError if it cannot be read.
  virtual std::int64_t read(std::int64_t place, std::span<std::byte> into,
                            ReadAccount& account) = 0;
  /// Says what will be read soon, in this order: what is far away comes in large pieces.
  virtual void expect(std::span<const ByteRange> ranges, ReadAccount& account) = 0;
  /// What was read of this range is damaged: forgets it where it may have become so on its way, and
  /// says whether it is to be read again. \throws InputError
  [[nodiscard]] virtual bool forget_damaged(const ByteRange& /*range*/) { return false; }
  /// What was expected to have a checksum has none: forgets it where it came without one of the
  /// link, and says whether it is to be read again.
  [[nodiscard]] virtual bool forget_unverified(const ByteRange& /*range*/) { return false; }

 protected:
  ByteSource() = default;
};

/// nullptr: of a protocol that ROOT alone can read here. \throws InputError if it cannot be opened.
[[nodiscard]] std::shared_ptr<ByteSource> open_bytes(const std::string& path);

/// For an error: why this place of a file was not read; "" if nobody knows.
[[nodiscard]] std::string cannot_read(const std::string& path, std::int64_t place,
                                      const std::string& why);

/// Writes a line to stderr, as a whole: other processes write there at the same time.
void say(const std::string& text);

}  // namespace forkrun
