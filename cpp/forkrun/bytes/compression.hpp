#pragma once

#include <string>

namespace forkrun {

/// "zstd:5", "lz4:4", "zlib:1", "lzma:6" or "none".
struct Compression {
  int algorithm{};  ///< ROOT's number
  int level{};      ///< 1 to 9; 0: none

  /// \throws Error naming the forms there are.
  [[nodiscard]] static Compression parse(const std::string& text);
  /// Of ROOT's number for both.
  [[nodiscard]] static Compression of_settings(int settings) {
    constexpr int levels = 100;
    return {settings / levels, settings % levels};
  }
  /// ROOT's number for both: 100 * algorithm + level.
  [[nodiscard]] int settings() const { return level == 0 ? 0 : algorithm * 100 + level; }
};

}  // namespace forkrun
