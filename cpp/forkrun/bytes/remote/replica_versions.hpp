#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Bytes of begin and end of a file.
using FileEnds = std::array<std::vector<std::byte>, 2>;

/// Reads them. `problem`: the reason for a failure.
[[nodiscard]] FileEnds read_file_ends(RemoteConnection& connection, RemoteProblem& problem);

/// Versions given by servers for the same content of a file: caches change the date once they have
/// begun to copy, and servers that share a name and a disk have different tags.
class ReplicaVersions {
 public:
  using Connect = std::function<RemoteOpened()>;

  [[nodiscard]] bool is_empty() const { return versions_.empty(); }
  [[nodiscard]] const RemoteVersion& first() const { return versions_.front(); }
  [[nodiscard]] std::span<const RemoteVersion> all() const { return versions_; }
  [[nodiscard]] bool has(const RemoteVersion& version) const;
  void add(const RemoteVersion& version) { versions_.push_back(version); }
  /// Accepts another version as the same file if begin and end are unchanged and, where tags and
  /// dates all differ, a server still gives a known version. Of servers that give a new version
  /// each time only the size is trusted. `ends`: earlier reads, if any.
  [[nodiscard]] RemoteProblem take_up(const RemoteVersion& other, const Connect& connect,
                                      const std::optional<FileEnds>& ends);

 private:
  struct Survey;

  [[nodiscard]] RemoteProblem ask_around(const RemoteVersion& other, const Connect& connect,
                                         Survey& survey) const;

  std::vector<RemoteVersion> versions_;
};

/// Error for a file with such different versions: `change` of RemoteVersion.
[[nodiscard]] RemoteProblem changed_on_server(const std::string& change);

}  // namespace forkrun
