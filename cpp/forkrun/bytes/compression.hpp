#pragma once

#include <string>

namespace forkrun {

/// "zstd:5", "lz4:4", "zlib:1", "lzma:6", "none" or "auto".
struct Compression {
  int algorithm{};  ///< ROOT's number
  int level{};      ///< 1 to 9; 0: none
  /// Somebody chose the level, and gets ROOT's bytes. Else zstd:3 to zstd:5 have forkrun's own
  /// search.
  bool is_chosen{};

  /// \throws Error naming the forms there are.
  [[nodiscard]] static Compression parse(const std::string& text);
  /// Of ROOT's number for both.
  [[nodiscard]] static Compression of_settings(int settings) {
    constexpr int levels = 100;
    return {settings / levels, settings % levels};
  }
  /// Whether what it makes has a checksum. What does not become smaller is stored without one.
  [[nodiscard]] bool has_checksum() const;
  /// ROOT's number for both: 100 * algorithm + level.
  [[nodiscard]] int settings() const { return level == 0 ? 0 : algorithm * 100 + level; }
};

}  // namespace forkrun
