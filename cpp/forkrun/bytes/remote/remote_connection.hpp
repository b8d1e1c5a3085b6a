#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace forkrun {

/// Attributes by which a server distinguishes contents of a file.
struct RemoteVersion {
  std::int64_t n_bytes = -1;   ///< -1: unknown
  std::int64_t modified_ns{};  ///< since 1970; 0: unknown
  std::string tag{};           ///< an ETag, without the mark of weak ones; "": none

  /// Differences in attributes that both have: "ETag "a" → "b""; "": none.
  [[nodiscard]] std::string change_to(const RemoteVersion& other) const;
  /// Whether tags differ and no date shows the same content. Servers that share a disk may have
  /// different tags, with one date.
  [[nodiscard]] bool differs_in_all(const RemoteVersion& other) const;
  [[nodiscard]] bool operator==(const RemoteVersion&) const = default;
};

/// Failure of a request to a server; without text: success.
struct RemoteProblem {
  std::string text{};
  bool is_lasting = false;               ///< asking again is useless
  std::optional<RemoteVersion> other{};  ///< delivered in place of the known version
  bool is_answer = false;                ///< the server can be reached, and refuses

  explicit operator bool() const { return !text.empty(); }
};

/// A range of a remote file, and the destination of its bytes.
struct RemotePiece {
  std::int64_t place{};
  std::span<std::byte> into{};
};

/// A file opened on a server for this process. Any thread.
class RemoteConnection {
 public:
  virtual ~RemoteConnection() = default;
  RemoteConnection(const RemoteConnection&) = delete;
  RemoteConnection& operator=(const RemoteConnection&) = delete;

  /// Version of the file at its opening.
  [[nodiscard]] virtual RemoteVersion version() const = 0;
  /// Accepts answers of these versions from now on; bytes of another one are a problem.
  virtual void accept(std::span<const RemoteVersion> /*known*/) {}
  /// Whether bytes have checksums of the protocol.
  enum class Checks { if_free, always };
  /// Whether protocol and server offer checksums.
  [[nodiscard]] virtual bool has_checks() const { return false; }

  /// Begins to fill pieces, in the order of the file, in one request if possible; `done` is called
  /// once, in any thread. There are at most `most_pieces` pieces, each of at most
  /// `most_piece_bytes`. Returns the number of requests.
  virtual std::int64_t read(std::span<const RemotePiece> pieces,
                            std::function<void(const RemoteProblem&)> done, Checks checks) = 0;

  static constexpr std::int64_t most_piece_bytes = 2'097'136;
  static constexpr std::size_t most_pieces = 1024;

 protected:
  RemoteConnection() = default;
};

/// Answers to several requests, the first problem of which counts. Any thread.
class PendingAnswers {
 public:
  PendingAnswers(std::function<void(const RemoteProblem&)> done, std::size_t n)
      : done_{std::move(done)}, n_left_{n} {}

  void answered(RemoteProblem of_one) {
    {
      const std::lock_guard lock{mutex_};
      problem_ = problem_ ? problem_ : std::move(of_one);
    }
    if (--n_left_ == 0) {
      done_(problem_);
    }
  }

 private:
  std::function<void(const RemoteProblem&)> done_;
  std::atomic<std::size_t> n_left_;
  std::mutex mutex_;
  RemoteProblem problem_;
};

/// A connection, or the reason for its failure.
struct RemoteOpened {
  std::unique_ptr<RemoteConnection> connection{};
  RemoteProblem problem{};
};

/// Server's description of a file or folder that is not opened.
struct RemoteEntry {
  std::string name{};
  bool is_folder = false;
  std::int64_t n_bytes = -1;  ///< -1: unknown
  std::int64_t modified_ns{};
};

/// Content of a folder, or the reason for the failure.
struct RemoteListing {
  std::vector<RemoteEntry> entries{};
  RemoteProblem problem{};
};

/// Function `forkrun_open_remote` of a protocol's library.
using OpenRemote = RemoteOpened (*)(const std::string& url);
/// Function `forkrun_list_remote`, for a folder.
using ListRemote = RemoteListing (*)(const std::string& url);
/// Function `forkrun_stat_remote`, for files, all at once.
using StatRemote = std::vector<RemoteEntry> (*)(std::span<const std::string> urls);

}  // namespace forkrun
