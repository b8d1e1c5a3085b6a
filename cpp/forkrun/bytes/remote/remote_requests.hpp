#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/cached_file.hpp>
#include <forkrun/bytes/remote/read_windows.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>
#include <forkrun/bytes/remote/replica_versions.hpp>

namespace forkrun {

/// Begin and end of a file of so many bytes, where a ROOT file describes its content, except the
/// objects written last.
[[nodiscard]] std::array<ByteRange, 2> ends_of(std::int64_t n_bytes);
/// Waits for the answer.
[[nodiscard]] RemoteProblem read_now(RemoteConnection& connection, std::int64_t place,
                                     std::span<std::byte> into);

/// Expected and requested ranges of a remote file, under one lock. Outlives the file while an
/// answer is in flight.
struct RemoteRequests : std::enable_shared_from_this<RemoteRequests> {
  using Lock = std::unique_lock<std::mutex>;

  std::mutex mutex;
  std::condition_variable answered;
  ReadWindows windows;
  std::vector<std::shared_ptr<RemoteConnection>> connections;  ///< the last one is in use
  ReadAccount account;                                         ///< not yet reported to a reader
  std::ptrdiff_t n_in_flight = 0;  ///< requests with unprocessed answers
  bool is_closing = false;
  std::string given_up;                ///< reason for giving up: a reader's time limit has passed
  std::shared_ptr<CachedFile> cached;  ///< null: there is none

  /// Requests a window: ranges that are not cached, from the server. Releases the lock meanwhile:
  /// the answer may come at once. False: a connection is needed, and there is none.
  bool request(const std::shared_ptr<ReadWindow>& window, Lock& lock);
  /// Requests windows that should be in flight by now, if there is a connection.
  void request_ahead(Lock& lock);
  /// Begin and end of a file of so many bytes, if they were read.
  [[nodiscard]] std::optional<FileEnds> known_ends(std::int64_t n_bytes);
  void tell(ReadAccount& to) {
    const auto [calls, bytes, cached_bytes] = std::exchange(account, {});
    to.calls += calls;
    to.bytes += bytes;
    to.cached_bytes += cached_bytes;
  }
};

}  // namespace forkrun
