#include <forkrun/bytes/local_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>

namespace forkrun {

std::int64_t read_at(int descriptor, std::int64_t place, std::span<std::byte> into) {
  std::size_t n_read = 0;
  while (n_read < into.size()) {
    const auto rest = into.subspan(n_read);
    const auto n =
        ::pread(descriptor, rest.data(), rest.size(), place + static_cast<std::int64_t>(n_read));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return -1;
    }
    if (n == 0) {
      break;
    }
    n_read += static_cast<std::size_t>(n);
  }
  return static_cast<std::int64_t>(n_read);
}

bool write_at(int descriptor, std::int64_t place, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::pwrite(descriptor, bytes.data(), bytes.size(), place);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      errno = n == 0 ? ENOSPC : errno;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    place += n;
  }
  return true;
}

std::int64_t FilePosition::seek(std::int64_t offset, int whence) {
  if (whence == SEEK_END) {
    errno = EINVAL;
    return -1;
  }
  value_ = whence == SEEK_CUR ? value_ + offset : offset;
  return value_;
}

/// O_NONBLOCK: opening a pipe does not wait for a writer.
LocalFile::LocalFile(const std::string& path)
    : path_{path}, descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {
  struct stat status{};
  if (descriptor_ < 0) {
    throw InputError(path + ": cannot be opened: " + std::strerror(errno));
  }
  if (::fstat(descriptor_, &status) != 0) {
    const auto why = std::string{std::strerror(errno)};
    ::close(descriptor_);
    throw InputError(path + ": cannot be read: " + why);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw InputError(path + ": is not a regular file");
  }
  constexpr std::int64_t ns = 1'000'000'000;
  n_bytes_ = status.st_size;
  modified_ns_ = status.st_mtim.tv_sec * ns + status.st_mtim.tv_nsec;
}

LocalFile::~LocalFile() { ::close(descriptor_); }

bool LocalFile::is_path(const std::string& path) { return path.find("://") == std::string::npos; }

std::int64_t LocalFile::read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) {
  ++account.calls;
  account.bytes += std::ssize(into);
  const ReadingNote note{into.size()};
  const auto n = read_at(descriptor_, place, into);
  if (n < 0) {
    throw InputError(cannot_read(path_, place, std::strerror(errno)));
  }
  return n;
}

}  // namespace forkrun
