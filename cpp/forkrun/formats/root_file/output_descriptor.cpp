#include <forkrun/formats/root_file/output_descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_check.hpp>

namespace forkrun::root_io {

int open_output(const std::string& path, OutputMode mode) {
  const bool is_new = mode == OutputMode::create;
  if (is_new) {
    ::unlink(path.c_str());
  }
  const int flags = O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0);
  const int descriptor = ::open(path.c_str(), flags, 0644);
  if (descriptor < 0) {
    fail_output(path, "cannot be opened", errno);
  }
  return descriptor;
}

Uuid uuid_of(const ContentDigest& digest) {
  Uuid uuid{};
  const auto value = digest.value();
  std::memcpy(uuid.data(), value.data(), uuid.size());
  uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x80};
  uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};
  return uuid;
}

std::int64_t finish_output(int& descriptor, const std::string& path) {
  check_records(descriptor, path);
  struct stat status{};
  if (::fsync(descriptor) != 0 || ::fstat(descriptor, &status) != 0) {
    fail_output(path, "cannot be synced", errno);
  }
  close_output(descriptor, path);
  return status.st_size;
}

void close_output(int& descriptor, const std::string& path) {
  if (::close(std::exchange(descriptor, -1)) != 0) {
    fail_output(path, "cannot be closed", errno);
  }
}

void fail_to_write(const std::string& path, int error) {
  throw OutputError(path + ": cannot be written: " + std::strerror(error) +
                    "; free some space or choose another directory");
}

void fail_output(const std::string& path, const std::string& what, int error) {
  throw OutputError(path + ": " + what + ": " + std::strerror(error));
}

}  // namespace forkrun::root_io
