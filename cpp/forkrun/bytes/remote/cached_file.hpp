#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/remote/remote_cache.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Bytes of one version of a remote file on this machine's disk. The file begins with its name and
/// version; bytes follow at their places in the remote file, with holes between them; last come
/// records of the cached ranges, with checksums, appended once the bytes are written. So a process
/// may be killed at any moment, and others need not wait for it: bytes without a record, or with
/// another checksum, do not count. Any thread.
class CachedFile {
 public:
  /// nullptr: nothing of it is cached. A version that cannot be told from the next one (without
  /// date and tag, or changed in the last seconds) is not cached.
  [[nodiscard]] static std::shared_ptr<CachedFile> open(const std::string& name,
                                                        const RemoteVersion& version);
  /// Identity of a cache file; without a name: it is not one.
  [[nodiscard]] static CacheEntry describe(const std::string& path);

  ~CachedFile();
  CachedFile(const CachedFile&) = delete;
  CachedFile& operator=(const CachedFile&) = delete;

  /// Fills pieces, and returns missing ones, or their missing parts. `needs_checks`: only bytes
  /// with checksums of the link count.
  [[nodiscard]] std::vector<RemotePiece> take(std::span<const RemotePiece> pieces,
                                              bool needs_checks);
  /// Caches bytes from the server. `are_checked`: with all checksums of its link.
  void keep(std::span<const RemotePiece> pieces, bool are_checked);
  /// Cached bytes are damaged that were whole when written: from now on, and for later jobs, all is
  /// read from the server.
  void drop();

 private:
  struct Record {
    std::uint64_t mark{};
    std::int64_t place{};
    std::int64_t n_bytes{};
    std::uint64_t is_checked{};
    std::array<std::uint64_t, 2> digest{};  ///< of the bytes
    std::array<std::uint64_t, 2> check{};   ///< of the preceding fields

    [[nodiscard]] std::int64_t end() const { return place + n_bytes; }
    [[nodiscard]] std::array<std::uint64_t, 2> own_check() const;
    [[nodiscard]] bool is_sound(std::int64_t n_file_bytes) const;
  };
  static_assert(sizeof(Record) == 64);

  CachedFile(RemoteCache& cache, std::string path, const RemoteVersion& version);
  [[nodiscard]] bool begin(const std::string& name, const RemoteVersion& version);
  [[nodiscard]] std::int64_t place_of_record(std::int64_t n) const;
  void read_records();
  [[nodiscard]] const Record* find(std::int64_t place, bool needs_checks) const;
  [[nodiscard]] bool read(const Record& record, const RemotePiece& piece) const;
  [[nodiscard]] std::size_t take_some(const RemotePiece& piece, bool needs_checks);
  [[nodiscard]] bool write(const RemotePiece& piece, bool is_checked, std::vector<Record>& records);
  [[nodiscard]] bool append(std::span<const Record> records);

  RemoteCache& cache_;
  std::string path_;
  std::int64_t n_bytes_;
  int descriptor_ = -1;
  std::atomic<bool> is_own_ = false;  ///< it may be written
  std::mutex writing_;
  std::mutex mutex_;  ///< for the members below
  bool is_dropped_ = false;
  std::int64_t n_records_ = 0;                                          ///< number of records read
  std::map<std::pair<std::int64_t, std::uint64_t>, Record> records_{};  ///< by place and is_checked
};

}  // namespace forkrun
