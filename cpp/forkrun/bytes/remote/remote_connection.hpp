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

#include <forkrun/bytes/remote/remote_version.hpp>

namespace forkrun {

/// Why a server did not do what it was asked for; no text: it did.
struct RemoteProblem {
  std::string text{};
  bool is_lasting = false;               ///< asking again does not help
  std::optional<RemoteVersion> other{};  ///< which it gave, in place of one that is known
  bool is_answer = false;                ///< it can be reached, and refuses

  explicit operator bool() const { return !text.empty(); }
};

/// A stretch of a remote file, and where its bytes go.
struct RemotePiece {
  std::int64_t place{};
  std::span<std::byte> into{};
};

/// A file as a server has it open for this process. Any thread.
class RemoteConnection {
 public:
  virtual ~RemoteConnection() = default;
  RemoteConnection(const RemoteConnection&) = delete;
  RemoteConnection& operator=(const RemoteConnection&) = delete;

  /// Of the file, when it was opened.
  [[nodiscard]] virtual RemoteVersion version() const = 0;
  /// From now on answers of these versions are taken; what comes of another one is a problem.
  virtual void accept(std::span<const RemoteVersion> /*known*/) {}
  /// Whether what comes has checksums of the protocol.
  enum class Checks { if_free, always };
  /// Whether the protocol and the server have some.
  [[nodiscard]] virtual bool has_checks() const { return false; }

  /// Begins to fill pieces, which are in the order of the file, in one request if it can; `done` is
  /// called once, in any thread. A piece has `most_piece_bytes` at most, and there are
  /// `most_pieces` at most. Gives the number of requests.
  virtual std::int64_t read(std::span<const RemotePiece> pieces,
                            std::function<void(const RemoteProblem&)> done, Checks checks) = 0;

  static constexpr std::int64_t most_piece_bytes = 2'097'136;
  static constexpr std::size_t most_pieces = 1024;

 protected:
  RemoteConnection() = default;
};

/// Answers to several requests, of which the first problem counts. Any thread.
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

/// A connection, or why there is none.
struct RemoteOpened {
  std::unique_ptr<RemoteConnection> connection{};
  RemoteProblem problem{};
};

/// What a server says of a file or folder without opening it.
struct RemoteEntry {
  std::string name{};
  bool is_folder = false;
  std::int64_t n_bytes = -1;  ///< -1: the server did not tell
  std::int64_t modified_ns{};
};

/// What is in a folder, or why that is not known.
struct RemoteListing {
  std::vector<RemoteEntry> entries{};
  RemoteProblem problem{};
};

/// What the library of a protocol offers, under the name `forkrun_open_remote`.
using OpenRemote = RemoteOpened (*)(const std::string& url);
/// The same, `forkrun_list_remote`: of a folder.
using ListRemote = RemoteListing (*)(const std::string& url);
/// The same, `forkrun_stat_remote`: of files, which are asked for all at once.
using StatRemote = std::vector<RemoteEntry> (*)(std::span<const std::string> urls);

}  // namespace forkrun
