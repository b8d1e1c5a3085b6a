#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/compression.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/root_file/file_classes.hpp>
#include <forkrun/formats/root_file/file_outline.hpp>

class TFile;

namespace forkrun::root_io {

/// Identity of a file, to check that it is still the indexed one.
struct FileIdentity {
  std::string uuid;
  std::int64_t n_bytes{};
  std::int64_t modified_ns{};  ///< since 1970; 0: unknown, and not compared
};

/// A ROOT file opened for reading. Its keys and the bytes of records are read without ROOT, where
/// `open_bytes` can; all else through TFile, which is opened only then: it needs ROOT's
/// interpreter, which takes a quarter of a second to start.
class InputFile {
 public:
  /// \throws InputError if the file is missing, is not a ROOT file, or was not closed properly.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// ROOT's object for it. Not in several threads at the same time. \throws InputError
  [[nodiscard]] TFile& file() const;
  [[nodiscard]] std::int64_t size() const { return identity_.n_bytes; }
  [[nodiscard]] bool is_local() const;
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  /// \throws InputError if this is not the indexed file.
  void check_identity(const FileIdentity& indexed) const;
  /// Header and directories, read without ROOT; none if that is not possible.
  [[nodiscard]] const std::optional<FileOutline>& outline() const { return outline_; }
  /// Compression of new records.
  [[nodiscard]] Compression compression() const;
  /// Whether the top directory has an object of this name.
  [[nodiscard]] bool has(const std::string& name) const;
  /// Whether its objects may refer to others: by numbers that belong to the file.
  [[nodiscard]] bool has_references() const;

  /// Compares the lists of its objects with the file. \throws InputError if they differ: readers
  /// would miss objects.
  void check_keys() const;

  /// Fills `into` from this offset of the file. Any thread. \throws InputError
  void read(std::int64_t offset, std::span<std::byte> into) const;
  /// Like `read`, for bytes read as if they had a checksum that is missing: once more, if they came
  /// without one of the link. Any thread. \throws InputError
  void read_verified(std::int64_t offset, std::span<std::byte> into) const;
  /// Announces ranges to be read soon, in this order. Any thread.
  void expect(std::span<const ByteRange> ranges) const;
  /// Reads and checks a range of the file. A damaged range may have been damaged on the way from a
  /// server, and is read once more. \throws exceptions of `body`. Any thread.
  template <typename Body>
  auto reading_again(const ByteRange& range, Body body) const -> decltype(body());
  /// Its description of classes; empty if that is damaged. Any thread.
  [[nodiscard]] const FileClasses& classes() const;

  [[nodiscard]] std::int64_t read_bytes() const { return read_bytes_; }
  [[nodiscard]] SourceLane::Statistics statistics() const {
    return {read_calls_, read_bytes_, cached_bytes_};
  }

 protected:
  struct WithoutRoot {};
  /// \throws InputError if it cannot be opened.
  InputFile(const std::string& path, WithoutRoot tag);
  /// Whether to read this damaged range again.
  [[nodiscard]] bool forget_damaged(const ByteRange& range) const;

 private:
  void open_with_root() const;
  [[nodiscard]] FileOutline::Read reading() const;
  [[nodiscard]] std::string uuid();
  void read_with_root(std::int64_t offset, std::span<std::byte> into) const;
  void add(const ReadAccount& account) const;
  [[nodiscard]] FileClasses read_classes() const;

  std::string path_;
  mutable std::unique_ptr<TFile> file_;  ///< null until ROOT is needed
  std::optional<FileOutline> outline_;   ///< none: ROOT is needed
  std::shared_ptr<ByteSource> bytes_;    ///< null: only ROOT can read it
  FileIdentity identity_;
  mutable std::mutex with_root_;
  mutable std::atomic<std::int64_t> read_calls_{};
  mutable std::atomic<std::int64_t> read_bytes_{};
  mutable std::atomic<std::int64_t> cached_bytes_{};
  mutable std::once_flag classes_once_;
  mutable FileClasses classes_;  ///< read at first use
};

/// Works on a file of unknown origin: exceptions other than InputError become one that names the
/// file. Errors of outputs, and stops, stay unchanged.
template <typename Body>
auto naming_file(const std::string& path, Body body) -> decltype(body());

/// Opens a file and scans it. Damage in a remote file may have occurred on the way: it is opened
/// once more.
template <typename Body>
auto opening_again(const std::string& path, Body body) -> decltype(body());

/// Keeps ROOT's own messages off the terminal during its lifetime, and returns them as text for an
/// error.
class CapturedMessages {
 public:
  CapturedMessages();
  ~CapturedMessages();
  CapturedMessages(const CapturedMessages&) = delete;
  CapturedMessages& operator=(const CapturedMessages&) = delete;

  /// The first error or warning of this thread since construction; "" if there was none.
  [[nodiscard]] std::string first() const;
  /// The first error, warnings left out; "" if there was none.
  [[nodiscard]] std::string first_error() const;
  /// Class of an object that ROOT left out because it knows the class only from the file; "" if
  /// there was none.
  [[nodiscard]] std::string unknown_class() const;
  /// \throws InputError if a message reports damage of the file: ROOT continues without the object,
  /// or all objects after it.
  void require_undamaged(const std::string& path) const;
};

/// \throws InputError naming the damaged part of the file.
[[noreturn]] void fail_damaged(const std::string& path, const std::string& what);
[[noreturn]] void rethrow_with_file(const std::string& path);
/// Reports a repetition, for a remote file.
[[nodiscard]] bool is_opened_again(const std::string& path, const Error& because);

/// Does something, and once more if the data read are damaged and `is_tried_again` returns true.
template <typename Body, typename Again>
auto trying_again(Body body, Again is_tried_again) -> decltype(body()) {
  try {
    return body();
  } catch (const UnreadBytes&) {
    throw;
  } catch (const Error& error) {
    if (!is_tried_again(error)) {
      throw;
    }
  }
  return body();
}

template <typename Body>
auto InputFile::reading_again(const ByteRange& range, Body body) const -> decltype(body()) {
  return trying_again(body, [&](const Error& /*because*/) { return forget_damaged(range); });
}

template <typename Body>
auto opening_again(const std::string& path, Body body) -> decltype(body()) {
  return trying_again(body, [&](const Error& error) { return is_opened_again(path, error); });
}

template <typename Body>
auto naming_file(const std::string& path, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    rethrow_with_file(path);
  }
}

}  // namespace forkrun::root_io
