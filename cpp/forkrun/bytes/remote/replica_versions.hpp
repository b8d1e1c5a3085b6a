#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/bytes/remote/remote_connection.hpp>
#include <forkrun/bytes/remote/remote_version.hpp>

namespace forkrun {

/// Bytes of begin and end of a file.
using FileEnds = std::array<std::vector<std::byte>, 2>;

/// Reads them. `problem`: why that cannot be.
[[nodiscard]] FileEnds read_file_ends(RemoteConnection& connection, RemoteProblem& problem);

/// Versions that servers tell of a file that is the same in all of them: caches tell another date
/// once they have begun to copy, and servers that share a name and a disk have tags of their own.
class ReplicaVersions {
 public:
  using Connect = std::function<RemoteOpened()>;

  [[nodiscard]] bool is_empty() const { return versions_.empty(); }
  [[nodiscard]] const RemoteVersion& first() const { return versions_.front(); }
  [[nodiscard]] std::span<const RemoteVersion> all() const { return versions_; }
  [[nodiscard]] bool has(const RemoteVersion& version) const;
  void add(const RemoteVersion& version) { versions_.push_back(version); }
  /// Takes another version for the same file if begin and end are what they were and, where tags
  /// and dates are all others, a server still tells something else. Of servers that tell something
  /// else each time nothing is believed but the size. `ends`: as they were read, if they were.
  [[nodiscard]] RemoteProblem take_up(const RemoteVersion& other, const Connect& connect,
                                      const std::optional<FileEnds>& ends);

 private:
  struct Survey;

  [[nodiscard]] RemoteProblem ask_around(const RemoteVersion& other, const Connect& connect,
                                         Survey& survey) const;

  std::vector<RemoteVersion> versions_;
};

/// Of a file whose versions differ so: `change` of RemoteVersion.
[[nodiscard]] RemoteProblem changed_on_server(const std::string& change);

}  // namespace forkrun
