#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

/// Bytes of the input that no server delivers: the time limit has passed.
class UnreadBytes : public InputError {
 public:
  using InputError::InputError;
};

/// A range of a file.
struct ByteRange {
  std::int64_t place{};
  std::int64_t n_bytes{};
  bool has_checksum = false;  ///< of its own, which the reader compares

  [[nodiscard]] std::int64_t end() const { return place + n_bytes; }
};

/// Counts of requests to the disk or to a server.
struct ReadAccount {
  std::int64_t calls{};
  std::int64_t bytes{};
  std::int64_t cached_bytes{};  ///< of a server's file, found on this machine
};

/// Bytes of a file that is open for reading. Any thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] virtual std::int64_t n_bytes() const = 0;
  /// Since 1970; 0: unknown.
  [[nodiscard]] virtual std::int64_t modified_ns() const = 0;
  /// Fills `into` from this place; returns the number of bytes, fewer only at the end of the file.
  /// \throws InputError if it cannot be read.
  virtual std::int64_t read(std::int64_t place, std::span<std::byte> into,
                            ReadAccount& account) = 0;
  /// Announces ranges to be read soon, in this order: distant files are read in large pieces.
  virtual void expect(std::span<const ByteRange> ranges, ReadAccount& account) = 0;
  /// Bytes read from this range are damaged: drops them if they may have been damaged on their way,
  /// and returns whether to read them again. \throws InputError
  [[nodiscard]] virtual bool forget_damaged(const ByteRange& /*range*/) { return false; }
  /// A checksum is missing: drops the bytes if they came without a checksum of the link, and
  /// returns whether to read them again.
  [[nodiscard]] virtual bool forget_unverified(const ByteRange& /*range*/) { return false; }

 protected:
  ByteSource() = default;
};

/// nullptr: only ROOT can read this protocol here. \throws InputError if it cannot be opened.
[[nodiscard]] std::shared_ptr<ByteSource> open_bytes(const std::string& path);

/// For an error: why this place of a file was not read; "" if unknown.
[[nodiscard]] std::string cannot_read(const std::string& path, std::int64_t place,
                                      const std::string& why);

/// Writes a line to stderr in one piece: other processes write there at the same time.
void say(const std::string& text);

}  // namespace forkrun
