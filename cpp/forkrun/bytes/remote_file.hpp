#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/read_windows.hpp>
#include <forkrun/bytes/remote_connection.hpp>

namespace forkrun {

/// A file on a server. What is expected to be read is fetched ahead, many pieces with one request.
/// A connection that fails is made anew, with pauses between that grow, and an end.
class RemoteFile final : public ByteSource {
 public:
  using Connect = std::function<RemoteOpened()>;

  /// One for all in this process that have it open; nullptr if no library here knows the protocol.
  /// \throws InputError
  [[nodiscard]] static std::shared_ptr<RemoteFile> open(const std::string& url);
  /// \throws InputError
  RemoteFile(std::string url, Connect connect);
  ~RemoteFile() override;

  [[nodiscard]] std::int64_t n_bytes() const override { return n_bytes_; }
  [[nodiscard]] std::int64_t modified_ns() const override { return modified_ns_; }
  std::int64_t read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) override;
  void expect(std::span<const ByteRange> ranges, ReadAccount& account) override;

 private:
  /// What is left when the file is closed while an answer is on its way.
  struct Shared;
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] RemoteOpened connect_patiently() const;
  void connect_again(std::uint64_t failed);
  [[nodiscard]] RemoteProblem try_read(std::int64_t place, std::span<std::byte> into,
                                       ReadAccount& account, std::uint64_t& connection);
  [[nodiscard]] RemoteProblem read_directly(std::int64_t place, std::span<std::byte> into,
                                            ReadAccount& account, Lock& lock);
  void request(const std::shared_ptr<ReadWindow>& window, ReadAccount& account, Lock& lock);
  void request_ahead(ReadAccount& account, Lock& lock);

  std::string url_;
  Connect connect_;
  std::int64_t n_bytes_{};
  std::int64_t modified_ns_{};
  std::shared_ptr<Shared> shared_;
  std::mutex connecting_;
  std::vector<std::shared_ptr<RemoteConnection>> connections_;  ///< the last one is used
};

}  // namespace forkrun
