#include <forkrun/bytes/remote/remote_cache.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <utility>

#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/bytes/remote/cached_file.hpp>

namespace forkrun {

namespace {

/// Longest time between two looks at the folder.
constexpr std::int64_t most_bytes_unseen = 16 << 20;
constexpr std::int64_t most_bytes_read = 1 << 20;
constexpr std::int64_t bytes_of_block = 512;  ///< of stat(2)
/// Share of a disk that stays free for others.
constexpr double least_free_share = 0.05;
constexpr const char* suffix = ".bytes";

/// Types of file systems that are shared by machines, or slow: of Linux, and others not in its
/// headers (Lustre, GPFS, CephFS, BeeGFS, PanFS, OrangeFS, GFS2, SMB 2).
constexpr std::array shared_types{std::uint32_t{NFS_SUPER_MAGIC},
                                  std::uint32_t{SMB_SUPER_MAGIC},
                                  std::uint32_t{AFS_SUPER_MAGIC},
                                  std::uint32_t{AFS_FS_MAGIC},
                                  std::uint32_t{CODA_SUPER_MAGIC},
                                  std::uint32_t{V9FS_MAGIC},
                                  std::uint32_t{OCFS2_SUPER_MAGIC},
                                  0x65735546U /* FUSE: CVMFS, EOS, sshfs */,
                                  0x0BD00BD0U,
                                  0x47504653U,
                                  0x00C36400U,
                                  0x19830326U,
                                  0xAAD7AAEAU,
                                  0x20030528U,
                                  0x01161970U,
                                  0xFE534D42U,
                                  0xFF534D42U};

std::string digest_of(const std::string& text) {
  ContentDigest digest;
  digest.add(std::as_bytes(std::span{text}));
  std::ostringstream words;
  words << std::hex;
  for (const auto word : digest.value()) {
    words.width(16);
    words.fill('0');
    words << word;
  }
  return words.str();
}

bool is_used_less(const CacheEntry& a, const CacheEntry& b) { return a.used_ns < b.used_ns; }

/// Servers of all places of a file.
std::string servers_of(const std::string& name) {
  std::istringstream places{name};
  std::string servers;
  for (std::string each; std::getline(places, each, '|');) {
    servers += (servers.empty() ? "" : ", ") + each.substr(0, each.find('/', each.find("://") + 3));
  }
  return servers;
}

/// Paths in a folder, without opening the files.
std::vector<std::string> paths_in(const std::string& folder, const std::string& begin) {
  std::vector<std::string> paths;
  std::error_code problem;
  for (std::filesystem::directory_iterator each{folder, problem}, end; !problem && each != end;
       each.increment(problem)) {
    const auto name = each->path().filename().string();
    if (name.starts_with(begin) && name.ends_with(suffix)) {
      paths.push_back(each->path().string());
    }
  }
  return paths;
}

/// Size and last use; false if it no longer exists.
bool note_state(CacheEntry& entry) {
  struct stat state{};
  if (::lstat(entry.path.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) {
    return false;
  }
  entry.n_kept_bytes = state.st_blocks * bytes_of_block;
  entry.used_ns = state.st_mtim.tv_sec * 1'000'000'000 + state.st_mtim.tv_nsec;
  return true;
}

}  // namespace

ReadAccount fill_cache(const std::string& name) {
  const auto file = open_bytes(name);
  ReadAccount account;
  std::vector<ByteRange> ranges;
  for (std::int64_t place = 0; place < file->n_bytes(); place += most_bytes_read) {
    ranges.push_back({place, std::min(most_bytes_read, file->n_bytes() - place)});
  }
  file->expect(ranges, account);
  std::vector<std::byte> bytes(static_cast<std::size_t>(most_bytes_read));
  for (const auto& range : ranges) {
    file->read(range.place, std::span{bytes}.first(static_cast<std::size_t>(range.n_bytes)),
               account);
  }
  // Begin and end were read when the file was opened.
  account.cached_bytes = std::max<std::int64_t>(file->n_bytes() - account.bytes, 0);
  return account;
}

RemoteCache* RemoteCache::of_job() {
  static std::mutex mutex;
  static std::map<std::string, RemoteCache> caches;  // a process may run several jobs
  const char* told = std::getenv("FORKRUN_REMOTE_CACHE");
  if (told == nullptr || *told == '\0') {
    return nullptr;
  }
  const std::lock_guard lock{mutex};
  const auto [found, is_new] = caches.try_emplace(told);
  if (is_new) {
    found->second.open(told);
  }
  return found->second.folder_.empty() ? nullptr : &found->second;
}

void RemoteCache::open(const std::string& told) {
  std::istringstream words{told};
  std::string form;
  std::string limit;
  std::int64_t begin_s = 0;
  words >> form >> limit >> begin_s;
  std::getline(words >> std::ws, folder_);
  begin_ns_ = begin_s * 1'000'000'000;
  if (limit.ends_with('%')) {
    limit_.share_of_free = std::atof(limit.c_str()) / 100;
  } else {
    limit_.bytes = std::atoll(limit.c_str());
  }
  if (!prepare_folder(form)) {
    folder_.clear();
  }
}

/// A user's own folder: nobody else reads or writes it.
bool RemoteCache::prepare_folder(const std::string& form) const {
  constexpr mode_t of_others = S_IRWXG | S_IRWXO;
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path{folder_}.parent_path(), problem);
  struct stat state{};
  if ((::mkdir(folder_.c_str(), S_IRWXU) != 0 && errno != EEXIST) ||
      ::stat(folder_.c_str(), &state) != 0 || !S_ISDIR(state.st_mode)) {
    return false;
  }
  const bool is_own = state.st_uid == ::geteuid() && (state.st_mode & of_others) == 0;
  return (is_own || form == "shared") && (form != "own" || !is_on_shared_disk(folder_));
}

bool RemoteCache::is_on_shared_disk(const std::string& folder) {
  struct statfs disk{};
  return ::statfs(folder.c_str(), &disk) != 0 ||
         std::ranges::find(shared_types, static_cast<std::uint32_t>(disk.f_type)) !=
             shared_types.end();
}

std::string RemoteCache::path_of(const std::string& name, const RemoteVersion& version) const {
  const auto told = std::to_string(version.n_bytes) + ' ' + std::to_string(version.modified_ns) +
                    ' ' + version.tag;
  return folder_ + '/' + digest_of(name) + '-' + digest_of(told) + suffix;
}

RemoteVersion RemoteCache::known_version(const std::string& name) const {
  CacheEntry last;
  for (const auto& path : paths_in(folder_, digest_of(name) + '-')) {
    auto entry = CachedFile::describe(path);
    if (entry.name == name && note_state(entry) && !is_used_less(entry, last)) {
      last = std::move(entry);
    }
  }
  return last.version;
}

std::vector<CacheEntry> RemoteCache::entries(const std::string& folder) {
  std::vector<CacheEntry> found;
  for (const auto& path : paths_in(folder, "")) {
    auto entry = CachedFile::describe(path);
    entry.path = path;
    if (note_state(entry)) {
      found.push_back(std::move(entry));
    }
  }
  return found;
}

bool RemoteCache::note_unanswered(const std::string& name) {
  const std::lock_guard lock{mutex_};
  const auto [servers, is_new] = unanswered_.insert(servers_of(name));
  if (is_new) {
    untold_.push_back(*servers);
  }
  return is_new;
}

bool RemoteCache::is_unanswered(const std::string& name) const {
  const std::lock_guard lock{mutex_};
  return unanswered_.contains(servers_of(name));
}

std::vector<std::string> RemoteCache::take_unanswered() {
  const std::lock_guard lock{mutex_};
  return std::exchange(untold_, {});
}

/// Bytes that may be cached in addition.
std::int64_t RemoteCache::room_for(std::int64_t n_used) const {
  struct statfs disk{};
  if (::statfs(folder_.c_str(), &disk) != 0) {
    return 0;
  }
  const auto n_free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_bsize);
  const auto n_left_free =
      least_free_share * static_cast<double>(disk.f_blocks) * static_cast<double>(disk.f_bsize);
  const auto n_most = limit_.share_of_free > 0
                          ? limit_.share_of_free * (n_free + static_cast<double>(n_used))
                          : static_cast<double>(limit_.bytes);
  return static_cast<std::int64_t>(
      std::min(n_most - static_cast<double>(n_used), n_free - n_left_free));
}

bool RemoteCache::makes_room(std::int64_t n_bytes) {
  const std::lock_guard lock{mutex_};
  if (is_full_ || n_bytes <= n_allowed_) {
    n_allowed_ -= n_bytes;
    return !is_full_;
  }
  std::vector<CacheEntry> files;
  std::int64_t n_used = 0;
  for (auto& path : paths_in(folder_, "")) {
    if (auto& entry = files.emplace_back(std::move(path)); !note_state(entry)) {
      files.pop_back();
    } else {
      n_used += entry.n_kept_bytes;
    }
  }
  std::ranges::sort(files, is_used_less);
  for (const auto& file : files) {
    const auto wanted = std::max(n_bytes, n_used / 16);
    if (room_for(n_used) >= wanted || file.used_ns >= begin_ns_) {
      break;
    }
    if (::unlink(file.path.c_str()) == 0) {
      n_used -= file.n_kept_bytes;
    }
  }
  const auto room = room_for(n_used);
  is_full_ = room < n_bytes;
  n_allowed_ = std::min(most_bytes_unseen, room / 16) - n_bytes;
  return !is_full_;
}

void RemoteCache::stop_writing() {
  const std::string why = std::strerror(errno);
  const std::lock_guard lock{mutex_};
  if (!is_full_) {
    is_full_ = true;
    say(folder_ + ": cannot be written: " + why + "; what is read of servers is not kept");
  }
}

}  // namespace forkrun
