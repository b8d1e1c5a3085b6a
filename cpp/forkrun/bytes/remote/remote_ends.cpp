#include <forkrun/bytes/remote/remote_ends.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include <forkrun/bytes/local_file.hpp>

namespace forkrun {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 30;  ///< of all files together
constexpr std::chrono::seconds longest_turn{10};
constexpr std::chrono::milliseconds between_tries{5};
/// Its lock lets one process write at a time; the next ones are for names.
constexpr std::int64_t place_of_writing = 0;
constexpr std::int64_t n_places_of_names = 1 << 20;

/// Header before the name, the tag and the bytes of each record.
struct RecordHeader {
  std::int64_t n_record_bytes{};  ///< this header included
  std::int64_t n_name_bytes{};
  std::int64_t n_tag_bytes{};
  std::int64_t n_file_bytes{};
  std::int64_t modified_ns{};
  std::int64_t n_ranges{};
  std::int64_t is_cached{};
};

std::span<std::byte> bytes_of(auto& value) { return std::as_writable_bytes(std::span{&value, 1}); }

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Within this process: another one of the job waits, or learns that it is taken.
bool try_lock(int descriptor, std::int64_t place, short kind) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return ::fcntl(descriptor, F_SETLK, &lock) == 0;
}

bool lock_for_a_while(int descriptor, std::int64_t place) {
  const auto end = std::chrono::steady_clock::now() + longest_turn;
  while (!try_lock(descriptor, place, F_WRLCK)) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(between_tries);
  }
  return true;
}

/// File of all ends, as known to this process: a text, the place after the last record, and the
/// records. A process killed while writing leaves that place unchanged.
class EndsFile {
 public:
  /// nullptr: the job has none. "TEXT PATH": the file begins with the text, as another process's
  /// file number may meanwhile be another file's.
  static EndsFile* of_job() {
    static std::mutex mutex;
    static std::map<std::string, EndsFile> files;  // by its name: a process may run several jobs
    const char* named = std::getenv("FORKRUN_ENDS");
    if (named == nullptr || *named == '\0') {
      return nullptr;
    }
    const std::lock_guard lock{mutex};
    auto& file = files[named];
    file.open(named);
    return file.descriptor_ < 0 ? nullptr : &file;
  }

  [[nodiscard]] int descriptor() const { return descriptor_; }

  std::vector<RemoteEnds> find(const std::string& name) {
    const std::lock_guard lock{mutex_};
    read_on();
    std::vector<RemoteEnds> all;
    const auto [first, last] = records_.equal_range(name);
    for (auto record = first; record != last; ++record) {
      if (auto ends = read(record->second.first, record->second.second)) {
        all.push_back(std::move(*ends));
      }
    }
    return all;
  }

  void add(const std::string& name, const RemoteEnds& ends) {
    const std::lock_guard lock{mutex_};
    const auto& version = ends.version;
    RecordHeader header{0,
                        std::ssize(name),
                        std::ssize(version.tag),
                        version.n_bytes,
                        version.modified_ns,
                        std::ssize(ends.ranges),
                        ends.is_cached ? 1 : 0};
    std::vector<std::byte> record;
    append(record, bytes_of(header));
    append(record, std::as_bytes(std::span{name}));
    append(record, std::as_bytes(std::span{version.tag}));
    append(record, std::as_bytes(std::span{ends.ranges}));
    append(record, ends.bytes);
    header.n_record_bytes = std::ssize(record);
    std::memcpy(record.data(), &header, sizeof header);
    if (!lock_for_a_while(descriptor_, place_of_writing)) {
      return;
    }
    auto end = end_of_records();
    if (end != 0 && end + std::ssize(record) <= most_bytes && write_at(descriptor_, end, record)) {
      end += std::ssize(record);
      static_cast<void>(write_at(descriptor_, place_of_end_, bytes_of(end)));
    }
    try_lock(descriptor_, place_of_writing, F_UNLCK);
  }

 private:
  void open(const std::string& named) {
    const auto space = named.find(' ');
    if (is_open_ || space == std::string::npos) {
      return;
    }
    is_open_ = true;
    const auto begin = named.substr(0, space);
    descriptor_ = ::open(named.c_str() + space + 1, O_RDWR | O_CLOEXEC);
    std::vector<std::byte> found(begin.size());
    if (descriptor_ >= 0 && (read_at(descriptor_, 0, found) != std::ssize(begin) ||
                             std::memcmp(found.data(), begin.data(), begin.size()) != 0)) {
      ::close(std::exchange(descriptor_, -1));
    }
    place_of_end_ = std::ssize(begin);
    n_read_ = place_of_end_ + std::ssize(bytes_of(place_of_end_));
  }

  /// 0: the file cannot be read.
  [[nodiscard]] std::int64_t end_of_records() const {
    std::int64_t end = 0;
    return read_at(descriptor_, place_of_end_, bytes_of(end)) == std::ssize(bytes_of(end)) ? end
                                                                                           : 0;
  }

  /// Reads records of other processes.
  void read_on() {
    const auto end = end_of_records();
    RecordHeader header;
    while (n_read_ < end &&
           read_at(descriptor_, n_read_, bytes_of(header)) == std::ssize(bytes_of(header))) {
      std::string name(static_cast<std::size_t>(header.n_name_bytes), '\0');
      const auto place = n_read_ + std::ssize(bytes_of(header));
      if (read_at(descriptor_, place, std::as_writable_bytes(std::span{name})) !=
          header.n_name_bytes) {
        return;
      }
      records_.emplace(std::move(name), std::pair{n_read_, header});
      n_read_ += header.n_record_bytes;
    }
  }

  [[nodiscard]] std::optional<RemoteEnds> read(std::int64_t place, RecordHeader header) const {
    RemoteEnds ends{{header.n_file_bytes, header.modified_ns, ""}};
    ends.is_cached = header.is_cached != 0;
    auto& tag = ends.version.tag;
    tag.resize(static_cast<std::size_t>(header.n_tag_bytes));
    const auto place_of_tag = std::ssize(bytes_of(header)) + header.n_name_bytes;
    ends.ranges.resize(static_cast<std::size_t>(header.n_ranges));
    const auto ranges = std::as_writable_bytes(std::span{ends.ranges});
    const auto before = place_of_tag + header.n_tag_bytes;
    const auto n_bytes = header.n_record_bytes - before - std::ssize(ranges);
    ends.bytes.resize(static_cast<std::size_t>(n_bytes));
    const bool is_there =
        read_at(descriptor_, place + place_of_tag, std::as_writable_bytes(std::span{tag})) ==
            header.n_tag_bytes &&
        read_at(descriptor_, place + before, ranges) == std::ssize(ranges) &&
        read_at(descriptor_, place + before + std::ssize(ranges), ends.bytes) == n_bytes;
    return is_there ? std::optional{std::move(ends)} : std::nullopt;
  }

  bool is_open_ = false;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::int64_t place_of_end_ = 0;
  std::int64_t n_read_ = 0;
  std::multimap<std::string, std::pair<std::int64_t, RecordHeader>>
      records_;  ///< with their places
};

}  // namespace

std::vector<RemoteEnds> SharedEnds::of(const std::string& name) {
  auto* file = EndsFile::of_job();
  return file == nullptr ? std::vector<RemoteEnds>{} : file->find(name);
}

void SharedEnds::add(const std::string& name, const RemoteEnds& ends) {
  if (auto* file = EndsFile::of_job()) {
    file->add(name, ends);
  }
}

SharedEnds::Turn::Turn(const std::string& name) {
  if (const auto* file = EndsFile::of_job()) {
    const auto number = std::hash<std::string>{}(name) % n_places_of_names;
    const auto place = place_of_writing + 1 + static_cast<std::int64_t>(number);
    place_ = lock_for_a_while(file->descriptor(), place) ? place : -1;
  }
}

SharedEnds::Turn::~Turn() {
  const auto* file = place_ < 0 ? nullptr : EndsFile::of_job();
  if (file != nullptr) {
    try_lock(file->descriptor(), place_, F_UNLCK);
  }
}

}  // namespace forkrun
