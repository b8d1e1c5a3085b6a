#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/read_windows.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

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

  /// Asks for a window. Gives up the lock meanwhile: the answer may come at once.
  void request(const std::shared_ptr<ReadWindow>& window, Lock& lock);
  /// What is to be on its way by now, if there is a connection.
  void request_ahead(Lock& lock);
  void tell(ReadAccount& to) {
    const auto [calls, bytes] = std::exchange(account, {});
    to.calls += calls;
    to.bytes += bytes;
  }
};

}  // namespace forkrun
