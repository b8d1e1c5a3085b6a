#include <forkrun/process/open_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

OpenFile::OpenFile(std::string path)
    : path_{std::move(path)}, descriptor_{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)} {
  if (descriptor_ < 0) {
    fail();
  }
}

OpenFile::~OpenFile() { ::close(descriptor_); }

std::span<std::byte> OpenFile::read(std::span<std::byte> buffer) const {
  auto n = ::read(descriptor_, buffer.data(), buffer.size());
  while (n < 0 && errno == EINTR) {
    n = ::read(descriptor_, buffer.data(), buffer.size());
  }
  if (n < 0) {
    fail();
  }
  return buffer.first(static_cast<std::size_t>(n));
}

void OpenFile::fail() const {
  throw InputError{path_ + ": cannot be read: " + std::strerror(errno)};
}

}  // namespace forkrun
