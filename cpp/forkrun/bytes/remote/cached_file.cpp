#include <forkrun/bytes/remote/cached_file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/bytes/local_file.hpp>

namespace forkrun {

namespace {

constexpr std::string_view first_text = "forkrun cache 1\n";
constexpr std::int64_t n_head_bytes = 16 << 10;
constexpr std::int64_t n_page_bytes = 4096;
constexpr std::uint64_t mark_of_record = 0x315f74706b6b7266;  // "frkkpt_1"
/// Bytes of a record that are read at a time for its check.
constexpr std::size_t most_record_bytes = 64 << 10;
constexpr std::size_t n_records_at_once = 4096;
/// A file replaced within the second of its date keeps the same date.
constexpr std::chrono::seconds least_age{2};
constexpr std::chrono::milliseconds between_lock_tries{1};
constexpr int n_lock_tries = 500;

/// Header before the name and the tag.
struct Head {
  std::array<char, first_text.size()> text{};
  std::int64_t n_bytes{};
  std::int64_t modified_ns{};
  std::int64_t n_name_bytes{};
  std::int64_t n_tag_bytes{};
};

using Digest = std::array<std::uint64_t, 2>;

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span{&value, 1});
}

/// Head, name, tag, zeros, and a digest of all that; empty if too long.
std::vector<std::byte> make_head(const std::string& name, const RemoteVersion& version) {
  Head head{{}, version.n_bytes, version.modified_ns, std::ssize(name), std::ssize(version.tag)};
  std::ranges::copy(first_text, head.text.begin());
  std::vector<std::byte> page;
  const auto append = [&page](std::span<const std::byte> bytes) {
    page.insert(page.end(), bytes.begin(), bytes.end());
  };
  append(bytes_of(head));
  append(std::as_bytes(std::span{name}));
  append(std::as_bytes(std::span{version.tag}));
  if (std::ssize(page) + std::ssize(bytes_of(Digest{})) > n_head_bytes) {
    return {};
  }
  page.resize(n_head_bytes - sizeof(Digest));
  append(bytes_of(digest_of(page)));
  return page;
}

bool has_head(int descriptor, std::span<const std::byte> head) {
  std::vector<std::byte> found(head.size());
  return read_at(descriptor, 0, found) == std::ssize(head) && std::ranges::equal(found, head);
}

/// Lock of this descriptor; others hold it for microseconds, unless they were stopped.
class FileLock {
 public:
  explicit FileLock(int descriptor) : descriptor_{descriptor} {
    for (int i = 0; i < n_lock_tries && !is_held_; ++i) {
      if (i > 0) {
        std::this_thread::sleep_for(between_lock_tries);
      }
      is_held_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    }
  }
  ~FileLock() {
    if (is_held_) {
      ::flock(descriptor_, LOCK_UN);
    }
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  explicit operator bool() const { return is_held_; }

 private:
  int descriptor_;
  bool is_held_ = false;
};

/// Whether the next version would differ from this one.
bool is_definite(const RemoteVersion& version) {
  using std::chrono::system_clock;
  const std::chrono::nanoseconds modified{version.modified_ns};
  return version.n_bytes > 0 && (version.modified_ns != 0 || !version.tag.empty()) &&
         system_clock::now().time_since_epoch() - modified > least_age;
}

}  // namespace

Digest CachedFile::Record::own_check() const {
  return digest_of(bytes_of(*this).first(sizeof(Record) - sizeof check));
}

bool CachedFile::Record::is_sound(std::int64_t n_file_bytes) const {
  return mark == mark_of_record && check == own_check() && place >= 0 && n_bytes > 0 &&
         n_bytes <= static_cast<std::int64_t>(most_record_bytes) && end() <= n_file_bytes;
}

std::shared_ptr<CachedFile> CachedFile::open(const std::string& name,
                                             const RemoteVersion& version) {
  auto* const cache = RemoteCache::of_job();
  if (cache == nullptr || !is_definite(version)) {
    return nullptr;
  }
  std::shared_ptr<CachedFile> file{new CachedFile{*cache, cache->path_of(name, version), version}};
  return file->begin(name, version) ? file : nullptr;
}

CachedFile::CachedFile(RemoteCache& cache, std::string path, const RemoteVersion& version)
    : cache_{cache}, path_{std::move(path)}, n_bytes_{version.n_bytes} {}

CachedFile::~CachedFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

/// Opens it, and makes its head if that is missing or damaged. Writes only files of this user, with
/// no other name. O_NONBLOCK: it may be a pipe.
bool CachedFile::begin(const std::string& name, const RemoteVersion& version) {
  constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  constexpr mode_t mode = 0666;
  const auto head = make_head(name, version);
  if (head.empty()) {
    return false;
  }
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | flags, mode);
  is_own_ = descriptor_ >= 0;
  if (!is_own_) {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | flags);
  }
  struct stat state{};
  if (descriptor_ < 0 || ::fstat(descriptor_, &state) != 0 || !S_ISREG(state.st_mode)) {
    return false;
  }
  is_own_ = is_own_ && state.st_uid == ::geteuid() && state.st_nlink == 1;
  if (is_own_) {
    ::futimens(descriptor_, nullptr);
  }
  if (has_head(descriptor_, head)) {
    return true;
  }
  const FileLock lock{descriptor_};
  return is_own_ && lock &&
         (has_head(descriptor_, head) ||
          (::ftruncate(descriptor_, 0) == 0 && write_at(descriptor_, 0, head)));
}

CacheEntry CachedFile::describe(const std::string& path) {
  CacheEntry entry;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  std::vector<std::byte> page(n_head_bytes);
  const bool is_there = descriptor >= 0 && read_at(descriptor, 0, page) == n_head_bytes;
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  Head head;
  std::memcpy(&head, page.data(), sizeof head);
  const auto most = n_head_bytes - static_cast<std::int64_t>(sizeof head + sizeof(Digest));
  const auto is_size = [most](std::int64_t n) { return n >= 0 && n <= most; };
  if (!is_there || !is_size(head.n_name_bytes) || !is_size(head.n_tag_bytes) ||
      !is_size(head.n_name_bytes + head.n_tag_bytes)) {
    return entry;
  }
  const auto* const name = reinterpret_cast<const char*>(&page[sizeof head]);
  const std::string told{name, static_cast<std::size_t>(head.n_name_bytes)};
  const RemoteVersion version{
      head.n_bytes,
      head.modified_ns,
      {name + head.n_name_bytes, static_cast<std::size_t>(head.n_tag_bytes)}};
  if (make_head(told, version) == page) {
    entry = {path, told, version};
  }
  return entry;
}

std::int64_t CachedFile::place_of_record(std::int64_t n) const {
  const auto end = n_head_bytes + n_bytes_;
  return (end + n_page_bytes - 1) / n_page_bytes * n_page_bytes +
         n * static_cast<std::int64_t>(sizeof(Record));
}

/// Reads records appended since, by any process.
void CachedFile::read_records() {
  std::vector<Record> some(n_records_at_once);
  std::int64_t n = 0;
  do {
    const auto n_read =
        read_at(descriptor_, place_of_record(n_records_), std::as_writable_bytes(std::span{some}));
    n = std::max<std::int64_t>(n_read, 0) / static_cast<std::int64_t>(sizeof(Record));
    for (const auto& record : std::span{some}.first(static_cast<std::size_t>(n))) {
      if (!record.is_sound(n_bytes_)) {
        continue;
      }
      auto& known = records_[{record.place, record.is_checked}];
      if (record.n_bytes >= known.n_bytes) {
        known = record;
      }
    }
    n_records_ += n;
  } while (n == static_cast<std::int64_t>(n_records_at_once));
}

/// The one that reaches farthest from a place. Records may overlap.
const CachedFile::Record* CachedFile::find(std::int64_t place, bool needs_checks) const {
  const auto first =
      records_.lower_bound({place + 1 - static_cast<std::int64_t>(most_record_bytes), 0});
  const Record* longest = nullptr;
  for (const auto& [begin, record] :
       std::ranges::subrange(first, records_.lower_bound({place + 1, 0}))) {
    const bool counts = record.end() > place && (!needs_checks || record.is_checked != 0);
    if (counts && (longest == nullptr || record.end() > longest->end())) {
      longest = &record;
    }
  }
  return longest;
}

/// Begin of a piece, as far as the record has it.
bool CachedFile::read(const Record& record, const RemotePiece& piece) const {
  const auto n_record = static_cast<std::size_t>(record.n_bytes);
  const auto skipped = static_cast<std::size_t>(piece.place - record.place);
  const auto n = std::min(piece.into.size(), n_record - skipped);
  const bool is_whole = n == n_record;
  std::vector<std::byte> room(is_whole ? 0 : n_record);
  const auto bytes = is_whole ? piece.into.first(n) : std::span{room};
  if (read_at(descriptor_, n_head_bytes + record.place, bytes) != record.n_bytes ||
      digest_of(bytes) != record.digest) {
    return false;
  }
  if (!is_whole) {
    std::memcpy(piece.into.data(), &room[skipped], n);
  }
  return true;
}

/// Number of cached bytes at the begin of a piece.
std::size_t CachedFile::take_some(const RemotePiece& piece, bool needs_checks) {
  std::size_t n = 0;
  while (n < piece.into.size()) {
    const RemotePiece rest{piece.place + static_cast<std::int64_t>(n), piece.into.subspan(n)};
    const auto* const record = find(rest.place, needs_checks);
    if (record == nullptr) {
      break;
    }
    if (!read(*record, rest)) {
      records_.erase({record->place, record->is_checked});
      continue;  // another one may have it
    }
    n += std::min(rest.into.size(), static_cast<std::size_t>(record->end() - rest.place));
  }
  return n;
}

std::vector<RemotePiece> CachedFile::take(std::span<const RemotePiece> pieces, bool needs_checks) {
  const std::lock_guard lock{mutex_};
  if (is_dropped_) {
    return {pieces.begin(), pieces.end()};
  }
  read_records();
  std::vector<RemotePiece> missing;
  for (auto [place, into] : pieces) {
    while (!into.empty()) {
      const auto n = take_some({place, into}, needs_checks);
      place += static_cast<std::int64_t>(n);
      into = into.subspan(n);
      // Up to the begin of the next record.
      const auto next = records_.lower_bound({place + 1, 0});
      const auto end = next == records_.end() ? n_bytes_ : next->first.first;
      const auto n_missing =
          std::min(into.size(), static_cast<std::size_t>(std::max<std::int64_t>(end - place, 1)));
      if (n_missing > 0) {
        missing.push_back({place, into.first(n_missing)});
      }
      place += static_cast<std::int64_t>(n_missing);
      into = into.subspan(n_missing);
    }
  }
  const bool are_too_many = missing.size() > RemoteConnection::most_pieces;
  return are_too_many ? std::vector<RemotePiece>{pieces.begin(), pieces.end()} : missing;
}

void CachedFile::keep(std::span<const RemotePiece> pieces, bool are_checked) {
  std::int64_t n_bytes = 0;
  for (const auto& piece : pieces) {
    n_bytes += std::ssize(piece.into);
  }
  const std::lock_guard lock{writing_};  // readers continue
  if (!is_own_ || !cache_.makes_room(n_bytes)) {
    return;
  }
  std::vector<Record> records;
  const bool are_written = std::ranges::all_of(
      pieces, [&](const auto& piece) { return write(piece, are_checked, records); });
  if (!are_written || !append(records)) {
    is_own_ = false;
  }
}

/// The same bytes as in any other process: there is one version.
bool CachedFile::write(const RemotePiece& piece, bool is_checked, std::vector<Record>& records) {
  for (std::size_t at = 0; at < piece.into.size(); at += most_record_bytes) {
    const auto bytes = piece.into.subspan(at, std::min(piece.into.size() - at, most_record_bytes));
    Record record{mark_of_record, piece.place + static_cast<std::int64_t>(at), std::ssize(bytes),
                  is_checked ? 1U : 0U, digest_of(bytes)};
    record.check = record.own_check();
    if (!write_at(descriptor_, n_head_bytes + record.place, bytes)) {
      cache_.stop_writing();
      return false;
    }
    records.push_back(record);
  }
  return true;
}

/// Appends after the last whole record: a process killed while writing leaves a part.
bool CachedFile::append(std::span<const Record> records) {
  const FileLock lock{descriptor_};
  struct stat state{};
  if (!lock || ::fstat(descriptor_, &state) != 0) {
    return false;
  }
  const auto n_bytes = state.st_size - place_of_record(0);
  const auto n = std::max<std::int64_t>(n_bytes, 0) / static_cast<std::int64_t>(sizeof(Record));
  if (!write_at(descriptor_, place_of_record(n), std::as_bytes(records))) {
    cache_.stop_writing();
    return false;
  }
  return true;
}

void CachedFile::drop() {
  const std::lock_guard lock{mutex_};
  struct stat own{};
  struct stat there{};
  const bool is_there = ::fstat(descriptor_, &own) == 0 && ::lstat(path_.c_str(), &there) == 0;
  if (is_there && own.st_ino == there.st_ino && own.st_dev == there.st_dev) {
    ::unlink(path_.c_str());
  }
  is_dropped_ = true;
  is_own_ = false;
}

}  // namespace forkrun
