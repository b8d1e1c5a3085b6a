#include <forkrun/bytes/decoded_blocks.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/bytes/remote/remote_cache.hpp>

namespace forkrun {

namespace {

constexpr const char* begin_of_name = "decoded-";
constexpr const char* end_of_records = ".records";
constexpr const char* end_of_contents = ".bytes";

int created(const std::string& path) {
  constexpr mode_t readable = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                readable);
}

bool append(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(descriptor, bytes.data(), bytes.size());
    if (n <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

/// A block is found by a digest of its compressed bytes, in any file that has it, so no content can
/// be out of date. Each process that adds blocks writes a file of contents, within the limit of the
/// cache, and a file with their places and checksums. It appends a record once the content is
/// written, so it may be killed at any moment. Lives, and keeps files open, as long as the process.
class BlocksOnDisk final : public DecodedBlocks {
 public:
  explicit BlocksOnDisk(RemoteCache& cache);

  [[nodiscard]] bool take(std::span<const std::byte> block, std::span<std::byte> content) override;
  void keep(std::span<const std::byte> block, std::span<const std::byte> content) override;

 private:
  using Digest = std::array<std::uint64_t, 2>;
  struct Record {
    Digest block{};
    Digest content{};
    std::int64_t place{};
    std::int64_t n_bytes{};
  };
  static_assert(sizeof(Record) == 48);
  struct Contents {
    explicit Contents(std::string p) : path{std::move(p)} {}

    std::string path;
    int descriptor = -1;  ///< of the contents, once some are read
    std::once_flag opened{};
  };
  struct Known {
    Contents* contents;
    Record record;
  };

  void read_records(const std::string& path);
  [[nodiscard]] bool begin();

  RemoteCache& cache_;
  std::vector<std::unique_ptr<Contents>> files_;
  std::shared_mutex mutex_;  ///< for the known blocks
  std::unordered_map<std::uint64_t, Known> known_;
  std::mutex writing_;  ///< for the members below
  int process_ = 0;     ///< whose files are written
  int contents_ = -1;
  int records_ = -1;
  std::int64_t end_ = 0;  ///< of the contents
};

BlocksOnDisk::BlocksOnDisk(RemoteCache& cache) : cache_{cache} {
  std::error_code problem;
  for (std::filesystem::directory_iterator each{cache.folder(), problem}, end;
       !problem && each != end; each.increment(problem)) {
    const auto path = each->path().string();
    if (each->path().filename().string().starts_with(begin_of_name) &&
        path.ends_with(end_of_records)) {
      read_records(path);
    }
  }
}

/// Contents may have been removed since, to make room.
void BlocksOnDisk::read_records(const std::string& path) {
  const auto name = path.substr(0, path.size() - std::string{end_of_records}.size());
  if (::access((name + end_of_contents).c_str(), R_OK) != 0) {
    ::unlink(path.c_str());
    return;
  }
  auto* const contents =
      files_.emplace_back(std::make_unique<Contents>(name + end_of_contents)).get();
  std::ifstream records{path, std::ios::binary};
  for (Record record; records.read(reinterpret_cast<char*>(&record), sizeof record);) {
    known_.try_emplace(record.block[0], contents, record);
  }
}

bool BlocksOnDisk::take(std::span<const std::byte> block, std::span<std::byte> content) {
  const auto digest = digest_of(block);
  Known known{};
  {
    const std::shared_lock lock{mutex_};
    const auto found = known_.find(digest[0]);
    if (found == known_.end()) {
      return false;
    }
    known = found->second;
  }
  auto& file = *known.contents;
  std::call_once(file.opened, [&file] {
    file.descriptor = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ::utimensat(AT_FDCWD, file.path.c_str(), nullptr, 0);  // it is in use
  });
  if (known.record.block == digest && std::cmp_equal(known.record.n_bytes, content.size()) &&
      std::cmp_equal(::pread(file.descriptor, content.data(), content.size(), known.record.place),
                     content.size()) &&
      digest_of(content) == known.record.content) {
    return true;
  }
  const std::lock_guard lock{mutex_};
  known_.erase(digest[0]);
  return false;
}

void BlocksOnDisk::keep(std::span<const std::byte> block, std::span<const std::byte> content) {
  const auto n_bytes = static_cast<std::int64_t>(content.size());
  const std::lock_guard lock{writing_};
  if (!cache_.makes_room(n_bytes)) {
    return;
  }
  const Record record{digest_of(block), digest_of(content), end_, n_bytes};
  if (!begin() || !append(contents_, content) ||
      !append(records_, std::as_bytes(std::span{&record, 1}))) {
    cache_.stop_writing();
    return;
  }
  end_ += n_bytes;
  const std::lock_guard found{mutex_};
  known_.try_emplace(record.block[0], files_.back().get(), record);
}

/// Files of this process: not those of the one that it was forked from.
bool BlocksOnDisk::begin() {
  if (process_ == ::getpid()) {
    return contents_ >= 0 && records_ >= 0;
  }
  ::close(contents_);
  ::close(records_);
  process_ = ::getpid();
  end_ = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const auto name =
      cache_.folder() + '/' + begin_of_name + std::to_string(process_) + '-' + std::to_string(now);
  files_.push_back(std::make_unique<Contents>(name + end_of_contents));
  contents_ = created(files_.back()->path);
  records_ = created(name + end_of_records);
  return contents_ >= 0 && records_ >= 0;
}

}  // namespace

DecodedBlocks* DecodedBlocks::of_job() {
  static std::mutex mutex;
  static std::map<RemoteCache*, BlocksOnDisk> of_caches;
  auto* const cache =
      std::getenv("FORKRUN_DECODED_CACHE") == nullptr ? nullptr : RemoteCache::of_job();
  if (cache == nullptr) {
    return nullptr;
  }
  const std::lock_guard lock{mutex};
  return &of_caches.try_emplace(cache, *cache).first->second;
}

}  // namespace forkrun
