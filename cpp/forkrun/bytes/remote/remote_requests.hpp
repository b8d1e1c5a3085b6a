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

/// Begin and end of a file of so many bytes: where a ROOT file says what it holds, but for what was
/// written last.
[[nodiscard]] std::array<ByteRange, 2> ends_of(std::int64_t n_bytes);
/// Waits for the answer.
[[nodiscard]] RemoteProblem read_now(RemoteConnection& connection, std::int64_t place,
                                     std::span<std::byte> into);

/// What is expected of a remote file and what was asked for, under one lock. It is left when the
/// file is closed while an answer is on its way.
struct RemoteRequests : std::enable_shared_from_this<RemoteRequests> {
  using Lock = std::unique_lock<std::mutex>;

  std::mutex mutex;
  std::condition_variable answered;
  ReadWindows windows;
  std::vector<std::shared_ptr<RemoteConnection>> connections;  ///< the last one is used
  ReadAccount account;                                         ///< that no reader has been told of
  std::ptrdiff_t n_in_flight = 0;  ///< requests whose answers have not been dealt with
  bool is_closing = false;
  std::string given_up;  ///< why nothing more is asked for: a reader's patience has ended
  std::shared_ptr<CachedFile> cached;  ///< null: there is none

  /// Asks for a window: what is not cached, of the server. Gives up the lock meanwhile: the answer
  /// may come at once. False: a connection is needed, and there is none.
  bool request(const std::shared_ptr<ReadWindow>& window, Lock& lock);
  /// What is to be on its way by now, if there is a connection.
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
