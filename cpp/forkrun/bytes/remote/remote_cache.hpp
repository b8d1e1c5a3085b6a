#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// A file of the cache: bytes of one version of a remote file.
struct CacheEntry {
  std::string path{};
  std::string name{};  ///< URL without secrets
  RemoteVersion version{};
  std::int64_t n_kept_bytes{};  ///< on the disk
  std::int64_t used_ns{};       ///< latest opening by a job, since 1970
};

/// Reads all of a remote file into the cache. \throws InputError
[[nodiscard]] ReadAccount fill_cache(const std::string& name);

/// Folder of cached bytes of remote files, for all jobs on this machine. It is kept within a limit:
/// the least recently used files are removed first, and none used by this job. If it cannot be
/// written, nothing more is cached. Any process, any thread.
class RemoteCache {
 public:
  /// nullptr: none. FORKRUN_REMOTE_CACHE="FORM LIMIT BEGIN FOLDER": the form is "own" (of one user,
  /// not on a shared file system), "asked" (allowed there as well) or "shared" (by users, in a
  /// folder that they have named); the limit is in bytes, or a share of the free space, "5%"; the
  /// job's begin in seconds since 1970.
  [[nodiscard]] static RemoteCache* of_job();

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Path of the file for a version. Begins with the same text for all versions of a name.
  [[nodiscard]] std::string path_of(const std::string& name, const RemoteVersion& version) const;
  /// Identity of the latest used version; without a size: nothing is cached.
  [[nodiscard]] RemoteVersion known_version(const std::string& name) const;
  /// Whether so many more bytes may be written.
  [[nodiscard]] bool makes_room(std::int64_t n_bytes);
  /// After an error of the disk, in errno: warns once.
  void stop_writing();

  /// Servers of a file, by its name, do not answer this job, which reads it from here. Returns
  /// whether that is new.
  bool note_unanswered(const std::string& name);
  [[nodiscard]] bool is_unanswered(const std::string& name) const;
  /// Servers noted since the last call: "https://host".
  [[nodiscard]] std::vector<std::string> take_unanswered();

  /// Cache files in a folder.
  [[nodiscard]] static std::vector<CacheEntry> entries(const std::string& folder);
  /// Whether a folder is on a file system shared by machines.
  [[nodiscard]] static bool is_on_shared_disk(const std::string& folder);

 private:
  struct Limit {
    std::int64_t bytes{};
    double share_of_free{};  ///< 0: the limit is in bytes
  };

  void open(const std::string& told);
  [[nodiscard]] bool prepare_folder(const std::string& form) const;
  [[nodiscard]] std::int64_t room_for(std::int64_t n_used) const;

  std::string folder_{};  ///< "": there is none
  Limit limit_{};
  std::int64_t begin_ns_{};
  mutable std::mutex mutex_;  ///< for the members below
  std::set<std::string> unanswered_;
  std::vector<std::string> untold_;
  std::int64_t n_allowed_ = 0;  ///< bytes that may be written before the next look at the folder
  bool is_full_ = false;
};

}  // namespace forkrun
