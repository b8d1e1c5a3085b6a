// A file here or on a server: what knows both.
#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/local_file.hpp>
#include <forkrun/bytes/remote/remote_file.hpp>

namespace forkrun {

std::shared_ptr<ByteSource> open_bytes(const std::string& path) {
  if (LocalFile::is_path(path)) {
    return std::make_shared<LocalFile>(path);
  }
  return RemoteFile::open(path);
}

}  // namespace forkrun
