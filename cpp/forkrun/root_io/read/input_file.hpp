#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/root_io/compression.hpp>
#include <forkrun/root_io/format/file_outline.hpp>
#include <forkrun/root_io/format/tree_record.hpp>

class TFile;
class TTree;

namespace forkrun::root_io {

class InputTree;

/// Identity of a file, to check that it is still the one that was indexed.
struct FileIdentity {
  std::string uuid;
  std::int64_t n_bytes{};
  std::int64_t modified_ns{};  ///< of a local file, since 1970; 0: not known, and not compared
};

/// A ROOT file opened for reading. Of a local file, what it says of its plain trees and the bytes
/// of baskets are read with pread(2); all else, and remote files, through TFile, which is opened
/// only then: it needs ROOT's interpreter, which takes a quarter of a second to start.
class InputFile {
 public:
  /// \throws InputError if the file is missing, is not a ROOT file, or was not closed properly.
  explicit InputFile(const std::string& path);
  friend bool is_plain_tree(const std::string& path, const std::string& tree);
  friend bool has_plain_trees_alone(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// As ROOT has it. Not in several threads at the same time. \throws InputError
  [[nodiscard]] TFile& file() const;
  [[nodiscard]] std::int64_t size() const { return identity_.n_bytes; }
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  /// \throws InputError if this is not the file that was indexed.
  void check_identity(const FileIdentity& indexed) const;
  /// As ROOT has it. `name`: its path, of keys; with a cycle, "Events;2", an older one. \throws
  /// InputError naming the trees there are.
  [[nodiscard]] TTree& tree(const std::string& name) const;
  /// Lives as long as the file. Not in several threads at the same time. \throws InputError as
  /// `tree`.
  [[nodiscard]] const InputTree& input_tree(const std::string& name);
  /// What its record says of a tree of numbers; none if it has anything else, or ROOT has to read
  /// it.
  [[nodiscard]] std::optional<TreeMembers> plain_members(const std::string& tree) const;
  /// What the record of a tree says; none if ROOT has to read it.
  [[nodiscard]] std::optional<TreeRecord> record_of(const std::string& tree,
                                                    PartsOfTree wanted) const;
  /// The names of its trees in their order; none if it holds anything else, or ROOT has to read it.
  [[nodiscard]] std::optional<std::vector<std::string>> names_of_trees() const;
  /// Header and directories, as they are read without ROOT; none if that is not possible.
  [[nodiscard]] const std::optional<FileOutline>& outline() const { return outline_; }
  /// Of new records.
  [[nodiscard]] Compression compression() const;
  /// Whether it has nothing under the name of a tree, which may have folders before it.
  [[nodiscard]] bool lacks(const std::string& tree) const;
  /// Whether the top directory has an object of this name.
  [[nodiscard]] bool has(const std::string& name) const;

  /// Compares the lists of its objects with the file, if it is a local one. \throws InputError if
  /// they do not agree: readers would not see all objects.
  void check_keys() const;

  /// Fills `into` from this offset of the file. Any thread. \throws InputError
  void read(std::int64_t offset, std::span<std::byte> into);

  [[nodiscard]] std::int64_t read_calls() const { return read_calls_; }
  [[nodiscard]] std::int64_t read_bytes() const { return read_bytes_; }

 private:
  struct WithoutRoot {};
  /// \throws InputError if it cannot be opened.
  InputFile(const std::string& path, WithoutRoot tag);
  void open_with_root() const;
  [[nodiscard]] FileOutline::Read reading() const;
  [[nodiscard]] std::string uuid();
  [[nodiscard]] std::unique_ptr<InputTree> tree_without_root(const std::string& name) const;
  void read_remote(std::int64_t offset, std::span<std::byte> into);

  std::string path_;
  mutable std::unique_ptr<TFile> file_;                  ///< null until ROOT is needed
  std::optional<FileOutline> outline_;                   ///< none: ROOT is needed
  mutable std::map<std::string, TTree*> trees_of_root_;  ///< by path; the file owns them
  std::map<std::string, std::unique_ptr<InputTree>> trees_;
  FileIdentity identity_;
  int descriptor_ = -1;  ///< of a local file; that of a remote one is its protocol's own number
  std::mutex remote_;
  std::atomic<std::int64_t> read_calls_{};
  std::atomic<std::int64_t> read_bytes_{};
};

/// Does something with a file of unknown origin: what it throws that is no InputError becomes one
/// that names the file. Errors of outputs, and that it was stopped, stay what they are.
template <typename Body>
auto naming_file(const std::string& path, Body body) -> decltype(body());

/// Keeps ROOT's own messages off the terminal while it lives, and gives them as text for an error.
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
  /// \throws InputError if one of them says that the file is damaged: ROOT goes on without the
  /// object, or all objects behind it.
  void require_undamaged(const std::string& path) const;
};

/// Whether columns of this tree of a local file can be read without ROOT. False also if there is no
/// such tree.
[[nodiscard]] bool is_plain_tree(const std::string& path, const std::string& tree);

/// Whether outputs of a local file can be made without ROOT: it has nothing but trees of numbers.
/// \throws InputError if it cannot be opened.
[[nodiscard]] bool has_plain_trees_alone(const std::string& path);

/// \throws InputError that says what of the file is damaged.
[[noreturn]] void fail_damaged(const std::string& path, const std::string& what);
[[noreturn]] void rethrow_with_file(const std::string& path);

template <typename Body>
auto naming_file(const std::string& path, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    rethrow_with_file(path);
  }
}

}  // namespace forkrun::root_io
