#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_version.hpp>

namespace forkrun {

/// A file of the cache: bytes of one version of a remote file.
struct CacheEntry {
  std::string path{};
  std::string name{};  ///< URL without secrets
  RemoteVersion version{};
  std::int64_t n_kept_bytes{};  ///< that it takes on the disk
  std::int64_t used_ns{};       ///< when a job opened it last, since 1970
};

/// Reads all of a remote file, so that the cache has it. \throws InputError
[[nodiscard]] ReadAccount fill_cache(const std::string& name);

/// Folder of bytes of remote files that were read, for all jobs on this machine. It is kept within
/// a limit: files that no job has used for longest go first, and none that this job has used. Where
/// nothing can be written, nothing more is kept. Any process, any thread.
class RemoteCache {
 public:
  /// nullptr: none. FORKRUN_REMOTE_CACHE="FORM LIMIT BEGIN FOLDER": the form is "own" (of one user,
  /// not on a file system that machines share), "asked" (there as well) or "shared" (by users, in a
  /// folder that they have named); the limit is in bytes, or a share of the free space, "5%"; the
  /// job's begin in seconds since 1970.
  [[nodiscard]] static RemoteCache* of_job();

  /// Path of the file for a version. Begins with the same text for all versions of a name.
  [[nodiscard]] std::string path_of(const std::string& name, const RemoteVersion& version) const;
  /// Of the version that was used last; one without a size: nothing of it is kept.
  [[nodiscard]] RemoteVersion known_version(const std::string& name) const;
  /// Whether so many bytes more may be written.
  [[nodiscard]] bool makes_room(std::int64_t n_bytes);
  /// After an error of the disk, which errno names: says so once.
  void stop_writing();

  /// Servers of a file, by its name, do not answer this job, which reads it from here. Whether that
  /// is new.
  bool note_unanswered(const std::string& name);
  [[nodiscard]] bool is_unanswered(const std::string& name) const;
  /// Those that were noted since this was last asked: "https://host".
  [[nodiscard]] std::vector<std::string> take_unanswered();

  /// Files in a folder that are of this form.
  [[nodiscard]] static std::vector<CacheEntry> entries(const std::string& folder);
  /// Whether machines share the file system of a folder.
  [[nodiscard]] static bool is_on_shared_disk(const std::string& folder);

 private:
  struct Limit {
    std::int64_t bytes{};
    double share_of_free{};  ///< 0: bytes count
  };

  void open(const std::string& told);
  [[nodiscard]] bool prepare_folder(const std::string& form) const;
  [[nodiscard]] std::int64_t room_for(std::int64_t n_used) const;

  std::string folder_{};  ///< "": there is none
  Limit limit_{};
  std::int64_t begin_ns_{};
  mutable std::mutex mutex_;  ///< of what follows
  std::set<std::string> unanswered_;
  std::vector<std::string> untold_;
  std::int64_t n_allowed_ = 0;  ///< bytes that may be written before the folder is looked through
  bool is_full_ = false;
};

}  // namespace forkrun
