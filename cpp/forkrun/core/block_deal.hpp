#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>

namespace forkrun {

/// Deals the blocks of a unit to lanes.
///
/// Where blocks must come by in their order every lane takes the next one. Else each lane has a
/// stretch of its own, of which it takes some blocks at a time, and the half of another's when its
/// own is empty: lanes hardly ever touch what others use, and read what lies together.
class BlockDeal {
 public:
  BlockDeal(std::size_t n_lanes, bool is_in_order);

  /// While nobody takes blocks.
  void begin(std::uint32_t n_blocks);
  /// The next block for a lane, by number.
  [[nodiscard]] std::optional<std::uint32_t> next(std::size_t lane) {
    auto& mine = stretches_[lane];
    if (mine.hand_first < mine.hand_last) {
      return mine.hand_first++;
    }
    return refill(lane);
  }

 private:
  /// Blocks [first, last), in one word: first in the upper half.
  using Blocks = std::atomic<std::uint64_t>;
  struct alignas(cache_line_pair) Stretch {
    Blocks blocks;               ///< for whoever takes them
    std::uint32_t hand_first{};  ///< the lane's own, taken already
    std::uint32_t hand_last{};
  };

  std::optional<std::uint32_t> refill(std::size_t lane);
  [[nodiscard]] bool take(Stretch& mine);
  [[nodiscard]] bool steal(std::size_t lane);

  bool is_in_order_;
  std::uint32_t n_blocks_{};
  std::atomic<std::uint32_t> next_{};
  std::vector<Stretch> stretches_;  ///< by lane
};

}  // namespace forkrun
