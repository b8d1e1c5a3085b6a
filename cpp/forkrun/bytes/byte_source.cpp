#include <forkrun/bytes/byte_source.hpp>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/bytes/remote_file.hpp>

namespace forkrun {

std::shared_ptr<ByteSource> open_bytes(const std::string& path) {
  if (LocalFile::is_path(path)) {
    return std::make_shared<LocalFile>(path);
  }
  return RemoteFile::open(path);
}

std::string cannot_read(const std::string& path, std::int64_t place, const std::string& why) {
  return path + ": cannot be read at byte " + std::to_string(place) +
         (why.empty() ? "" : ": " + why);
}

}  // namespace forkrun
