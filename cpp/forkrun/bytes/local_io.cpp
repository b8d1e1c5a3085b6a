#include <forkrun/bytes/local_io.hpp>

#include <unistd.h>

#include <cerrno>

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

}  // namespace forkrun
