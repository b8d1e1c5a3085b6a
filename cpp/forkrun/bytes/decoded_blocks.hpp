#pragma once

#include <cstddef>
#include <span>

namespace forkrun {

/// Uncompressed content of compressed blocks, for all jobs on this machine: of codecs that take
/// much longer than a disk. Any thread.
class DecodedBlocks {
 public:
  /// nullptr: none. FORKRUN_DECODED_CACHE says that the cache of remote files has them, too.
  [[nodiscard]] static DecodedBlocks* of_job();

  DecodedBlocks() = default;
  virtual ~DecodedBlocks() = default;
  DecodedBlocks(const DecodedBlocks&) = delete;
  DecodedBlocks& operator=(const DecodedBlocks&) = delete;

  /// Fills `content`; false if it is not there, or damaged.
  [[nodiscard]] virtual bool take(std::span<const std::byte> block,
                                  std::span<std::byte> content) = 0;
  virtual void keep(std::span<const std::byte> block, std::span<const std::byte> content) = 0;
};

}  // namespace forkrun
