#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>
#include <forkrun/bytes/remote/remote_limits.hpp>
#include <forkrun/bytes/remote/remote_requests.hpp>
#include <forkrun/bytes/remote/replica_rates.hpp>
#include <forkrun/bytes/remote/replica_versions.hpp>

namespace forkrun {

/// A file on a server. Expected ranges are fetched ahead, many pieces with one request, and the
/// next ones as answers come. Begin and end, which describe the content, are read once for all
/// processes of a job: a process with these opens the file when it needs more. Ranges cached on
/// this machine are not requested; nor is a file whose server does not answer, if it is cached. A
/// failed connection is made again, to the next replica if there are several, with pauses that grow
/// once none has worked, and a time limit.
class RemoteFile final : public ByteSource {
 public:
  /// A URL of the file, never shown in messages.
  struct Replica {
    std::string url{};
    std::function<RemoteOpened()> connect{};
  };

  /// One object for all openings in this process; nullptr if no library here knows the protocol.
  /// \throws InputError
  [[nodiscard]] static std::shared_ptr<RemoteFile> open(const std::string& name);
  /// \throws InputError
  RemoteFile(std::string name, std::vector<Replica> replicas);
  ~RemoteFile() override;

  [[nodiscard]] std::int64_t n_bytes() const override { return version_.n_bytes; }
  [[nodiscard]] std::int64_t modified_ns() const override { return version_.modified_ns; }
  std::int64_t read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) override;
  void expect(std::span<const ByteRange> ranges, ReadAccount& account) override;
  /// Continues with the next replica, if there is one.
  [[nodiscard]] bool forget_damaged(const ByteRange& range) override;
  [[nodiscard]] bool forget_unverified(const ByteRange& range) override;

 private:
  using Lock = RemoteRequests::Lock;

  [[nodiscard]] bool knows_ends();
  void learn_ends();
  void know_begin(std::span<const std::byte> bytes);
  void request_ahead(Lock& lock);
  void open_cached();
  void drop_cached();
  [[nodiscard]] bool use_cached_version(const std::string& why);
  [[nodiscard]] bool take_cached(std::int64_t place, std::span<std::byte> into);
  [[nodiscard]] RemoteProblem read_ends(const std::shared_ptr<ReadWindow>& window,
                                        std::uint64_t& connection);
  using Attempt = std::function<RemoteProblem(std::uint64_t& connection)>;
  void insist(Patience& patience, std::int64_t place, const Attempt& attempt);
  void connect_once(Patience& patience);
  [[nodiscard]] bool is_connected() const;
  void connect_ahead();
  void connect_patiently(Patience& patience);
  [[nodiscard]] RemoteProblem connect_to(std::size_t number);
  [[nodiscard]] RemoteProblem difference(RemoteConnection& connection, std::size_t number);
  [[nodiscard]] RemoteProblem know_version(const RemoteVersion& version, std::size_t number);
  [[nodiscard]] RemoteProblem take_version(RemoteVersion other);
  void connect_again(std::uint64_t failed, Patience& patience);
  void leave_slow_replica();
  void require_same_ends();
  void require_hope() const;
  [[noreturn]] void give_up(const std::string& why);
  [[nodiscard]] std::string told(const RemoteProblem& problem) const;
  [[nodiscard]] bool wait_after(const RemoteProblem& problem, Patience& patience) const;
  [[nodiscard]] RemoteProblem try_read(std::int64_t place, std::span<std::byte> into,
                                       std::uint64_t& connection, Patience& patience);
  [[nodiscard]] RemoteProblem read_directly(std::int64_t place, std::span<std::byte> into,
                                            Lock& lock);
  [[nodiscard]] bool is_here(std::int64_t place, std::size_t n_bytes) const;

  std::string name_;
  std::vector<Replica> replicas_;
  std::size_t replica_ = 0;  ///< the one in use
  ReplicaRates rates_;
  RemoteVersion version_{};  ///< of the first replica opened; without a size: none yet
  std::vector<ReplicaVersions> versions_;
  std::vector<std::byte>
      begin_;  ///< begin of the file, identifying replicas; empty for a single one
  std::shared_ptr<RemoteRequests> shared_;
  std::mutex connecting_;
  std::thread ahead_;        ///< makes the first connection
  bool is_cached_ = false;   ///< its server did not answer the job's request for the version
  bool keeps_reads_ = true;  ///< only begin and end were read so far
};

}  // namespace forkrun
