#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/read_windows.hpp>
#include <forkrun/bytes/remote_connection.hpp>
#include <forkrun/bytes/replica_rates.hpp>

namespace forkrun {

/// What is in a folder of a server.
[[nodiscard]] RemoteListing list_remote(const std::string& url);
/// Size and date of each file, from its first place; servers are asked for all at once.
[[nodiscard]] std::vector<RemoteEntry> stat_remote(std::span<const std::string> names);

/// A file on a server. What is expected to be read is fetched ahead, many pieces with one request.
/// A connection that fails is made anew, to the next replica if there are several, with pauses that
/// grow once none has worked, and an end.
class RemoteFile final : public ByteSource {
 public:
  /// One of the URLs of the file, which messages do not show.
  struct Replica {
    std::string url{};
    std::function<RemoteOpened()> connect{};
  };

  /// One for all in this process that have it open; nullptr if no library here knows the protocol.
  /// \throws InputError
  [[nodiscard]] static std::shared_ptr<RemoteFile> open(const std::string& name);
  /// \throws InputError
  RemoteFile(std::string name, std::vector<Replica> replicas);
  ~RemoteFile() override;

  [[nodiscard]] std::int64_t n_bytes() const override { return n_bytes_; }
  [[nodiscard]] std::int64_t modified_ns() const override { return modified_ns_; }
  std::int64_t read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) override;
  void expect(std::span<const ByteRange> ranges, ReadAccount& account) override;
  /// From the next replica, if there is one.
  [[nodiscard]] bool forget_damaged(const ByteRange& range) override;

 private:
  /// What is left when the file is closed while an answer is on its way.
  struct Shared;
  using Lock = std::unique_lock<std::mutex>;

  void connect_patiently();
  [[nodiscard]] RemoteProblem connect_to(std::size_t number);
  [[nodiscard]] RemoteProblem difference(RemoteConnection& connection, std::size_t number);
  void connect_again(std::uint64_t failed);
  void leave_slow_replica();
  [[nodiscard]] std::string told(const RemoteProblem& problem) const;
  void wait_after(const RemoteProblem& problem, std::chrono::seconds pause) const;
  [[nodiscard]] RemoteProblem try_read(std::int64_t place, std::span<std::byte> into,
                                       ReadAccount& account, std::uint64_t& connection);
  [[nodiscard]] RemoteProblem read_directly(std::int64_t place, std::span<std::byte> into,
                                            ReadAccount& account, Lock& lock);
  void request(const std::shared_ptr<ReadWindow>& window, ReadAccount& account, Lock& lock);
  void request_ahead(ReadAccount& account, Lock& lock);

  std::string name_;
  std::vector<Replica> replicas_;
  std::size_t replica_ = 0;  ///< the one that is used
  ReplicaRates rates_;
  std::int64_t n_bytes_{};
  std::int64_t modified_ns_{};
  std::vector<std::optional<std::int64_t>> replicas_modified_ns_;  ///< of those that were opened
  std::vector<std::byte> begin_;  ///< of the file, by which replicas are known; none of one alone
  std::shared_ptr<Shared> shared_;
  std::mutex connecting_;
  std::vector<std::shared_ptr<RemoteConnection>> connections_;  ///< the last one is used
};

}  // namespace forkrun
