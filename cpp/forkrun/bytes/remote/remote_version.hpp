#pragma once

#include <cstdint>
#include <string>

namespace forkrun {

/// By what a server tells one content of a file from another.
struct RemoteVersion {
  std::int64_t n_bytes = -1;   ///< -1: it does not tell
  std::int64_t modified_ns{};  ///< since 1970; 0: it does not tell
  std::string tag{};           ///< an ETag, without the mark of weak ones; "": it has none

  /// What differs, of what both tell: "ETag "a" → "b""; "": nothing.
  [[nodiscard]] std::string change_to(const RemoteVersion& other) const;
  /// Whether tags differ and no date says that the content is the same. Servers that share a disk
  /// may have tags of their own, with one date.
  [[nodiscard]] bool differs_in_all(const RemoteVersion& other) const;
  [[nodiscard]] bool operator==(const RemoteVersion&) const = default;
};

}  // namespace forkrun
