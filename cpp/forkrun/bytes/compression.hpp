#pragma once

#include <string>

namespace forkrun {

/// "zstd:5", "lz4:4", "zlib:1", "lzma:6", "none" or "auto".
struct Compression {
  int algorithm{};  ///< ROOT's number
  int level{};      ///< 1 to 9; 0: none
  /// The user chose the level, and gets ROOT's bytes. Else zstd:3 to zstd:5 use forkrun's own
  /// search.
  bool is_chosen{};

  /// \throws Error naming the valid forms.
  [[nodiscard]] static Compression parse(const std::string& text);
  /// The text that `parse` takes.
  [[nodiscard]] std::string text() const;
  /// From ROOT's number for both.
  [[nodiscard]] static Compression of_settings(int settings) {
    constexpr int levels = 100;
    return {settings / levels, settings % levels};
  }
  /// Whether compressed data have a checksum. Incompressible data are stored without one.
  [[nodiscard]] bool has_checksum() const;
  /// ROOT's number for both: 100 * algorithm + level.
  [[nodiscard]] int settings() const { return level == 0 ? 0 : algorithm * 100 + level; }
};

}  // namespace forkrun
