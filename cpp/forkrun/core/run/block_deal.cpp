#include <forkrun/core/run/block_deal.hpp>

#include <algorithm>

namespace forkrun {

namespace {

/// A lane that returns sooner takes twice as many blocks: then reading the clock costs almost
/// nothing, and at the end of a unit no lane waits long for another lane's blocks.
constexpr std::chrono::microseconds soon{20};
constexpr std::uint32_t most_at_a_time = 128;

}  // namespace

void BlockDeal::begin(std::uint32_t n_blocks) {
  n_blocks_ = n_blocks;
  // Relaxed, here and below: blocks are described before any lane begins.
  next_.store(0, std::memory_order_relaxed);
  std::ranges::fill(hands_, Hand{});
}

std::uint32_t BlockDeal::take(Hand& hand) {
  if (!is_one_by_one_) {
    const auto now = Clock::now();
    hand.size = now - hand.taken_at < soon ? std::min(2 * hand.size, most_at_a_time) : 1;
    hand.taken_at = now;
  }
  const auto first = next_.fetch_add(hand.size, std::memory_order_relaxed);
  if (first >= n_blocks_) {
    return no_block;
  }
  hand.first = first + 1;
  hand.last = std::min(first + hand.size, n_blocks_);
  return first;
}

}  // namespace forkrun
