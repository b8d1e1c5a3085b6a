#pragma once

#include <cstdint>
#include <string>

namespace forkrun {

/// Attributes by which a server distinguishes contents of a file.
struct RemoteVersion {
  std::int64_t n_bytes = -1;   ///< -1: unknown
  std::int64_t modified_ns{};  ///< since 1970; 0: unknown
  std::string tag{};           ///< an ETag, without the mark of weak ones; "": none

  /// Differences in attributes that both have: "ETag "a" → "b""; "": none.
  [[nodiscard]] std::string change_to(const RemoteVersion& other) const;
  /// Whether tags differ and no date shows the same content. Servers that share a disk may have
  /// different tags, with one date.
  [[nodiscard]] bool differs_in_all(const RemoteVersion& other) const;
  [[nodiscard]] bool operator==(const RemoteVersion&) const = default;
};

}  // namespace forkrun
