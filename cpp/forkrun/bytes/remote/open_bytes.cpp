// Opens local and remote files.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/local_file.hpp>
#include <forkrun/bytes/remote/remote_file.hpp>
#include <forkrun/bytes/remote/remote_protocols.hpp>

namespace forkrun {

namespace {

std::vector<RemoteFile::Replica> replicas_of(const std::string& name) {
  std::vector<RemoteFile::Replica> replicas;
  for (const auto& url : places_of(name)) {
    if (auto connect = connecting_to(url)) {
      replicas.push_back({url, std::move(connect)});
    }
  }
  return replicas;
}

}  // namespace

std::shared_ptr<RemoteFile> RemoteFile::open(const std::string& name) {
  struct Known {
    std::mutex connecting{};
    std::weak_ptr<RemoteFile> file{};
  };
  static std::mutex mutex;
  static std::map<std::string, Known> known_files;  // entries do not move
  auto replicas = replicas_of(name);
  if (replicas.empty()) {
    return nullptr;
  }
  std::unique_lock all{mutex};
  auto& known = known_files[name];
  all.unlock();
  const std::lock_guard lock{known.connecting};
  auto file = known.file.lock();
  if (!file) {
    file = std::make_shared<RemoteFile>(name, std::move(replicas));
    known.file = file;
  }
  return file;
}

std::shared_ptr<ByteSource> open_bytes(const std::string& path) {
  if (LocalFile::is_path(path)) {
    return std::make_shared<LocalFile>(path);
  }
  return RemoteFile::open(path);
}

}  // namespace forkrun
