#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <forkrun/concurrency/cache_lines.hpp>

namespace forkrun {

/// Deals the blocks of a unit to lanes, in order: one by one, or several at a time where blocks are
/// so short that lanes would wait for each other here and may come in any order.
class BlockDeal {
 public:
  BlockDeal(std::size_t n_lanes, bool is_one_by_one)
      : is_one_by_one_{is_one_by_one}, hands_(n_lanes) {}

  /// Begins another unit, while no lane takes blocks.
  void begin(std::uint32_t n_blocks);
  /// No such block. (Not a std::optional: that is written in two parts and read as one, for which
  /// the processor waits, each time as long as for a call of a module.)
  static constexpr std::uint32_t no_block = ~std::uint32_t{0};
  /// Number of the next block for a lane, or `no_block`.
  [[nodiscard]] std::uint32_t next(std::size_t lane) {
    auto& hand = hands_[lane];
    return hand.first < hand.last ? hand.first++ : take(hand);
  }
  /// The block that `next` will return, while no other lane takes blocks.
  [[nodiscard]] std::optional<std::uint32_t> coming(std::size_t lane) const {
    const auto& hand = hands_[lane];
    const auto number = hand.first < hand.last ? hand.first : next_.load(std::memory_order_relaxed);
    return number < n_blocks_ ? std::optional{number} : std::nullopt;
  }
  /// Whether all blocks were taken; lanes may still be working on some.
  [[nodiscard]] bool is_over() const {
    return next_.load(std::memory_order_relaxed) >= n_blocks_;  // It only grows.
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Blocks [first, last), taken by one lane.
  struct alignas(cache_line_pair) Hand {
    std::uint32_t first{};
    std::uint32_t last{};
    std::uint32_t size = 1;
    Clock::time_point taken_at{};
  };

  std::uint32_t take(Hand& hand);

  bool is_one_by_one_;
  std::uint32_t n_blocks_{};
  CacheLineVector<Hand> hands_;  ///< by lane
  alignas(cache_line_pair) std::atomic<std::uint32_t> next_{};
};

}  // namespace forkrun
