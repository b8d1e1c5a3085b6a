#include <forkrun/core/block_deal.hpp>

#include <algorithm>

namespace forkrun {

namespace {

// Relaxed, in all of this: blocks are described before any lane begins, and what lanes do with them
// is ordered by tasks.
constexpr auto relaxed = std::memory_order_relaxed;

/// Taken at a time: many while many are left, one by one in the end.
constexpr std::uint32_t most_at_a_time = 16;

struct Piece {
  std::uint32_t first;
  std::uint32_t last;
  [[nodiscard]] std::uint32_t size() const { return last - first; }
};

std::uint64_t pack(Piece piece) { return std::uint64_t{piece.first} << 32U | piece.last; }
Piece unpack(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 32U), static_cast<std::uint32_t>(word)};
}

}  // namespace

BlockDeal::BlockDeal(std::size_t n_lanes, bool is_in_order)
    : is_in_order_{is_in_order}, stretches_(n_lanes) {}

void BlockDeal::begin(std::uint32_t n_blocks) {
  n_blocks_ = n_blocks;
  next_.store(0, relaxed);
  const auto n_lanes = stretches_.size();
  for (std::size_t lane = 0; lane < n_lanes; ++lane) {
    const auto border = [&](std::size_t i) {
      return static_cast<std::uint32_t>(std::uint64_t{n_blocks} * i / n_lanes);
    };
    auto& stretch = stretches_[lane];
    const Piece all = is_in_order_ ? Piece{0, 0} : Piece{border(lane), border(lane + 1)};
    stretch.blocks.store(pack(all), relaxed);
    stretch.hand_first = stretch.hand_last = 0;
  }
}

std::optional<std::uint32_t> BlockDeal::refill(std::size_t lane) {
  if (is_in_order_) {
    const auto number = next_.fetch_add(1, relaxed);
    return number < n_blocks_ ? std::optional{number} : std::nullopt;
  }
  auto& mine = stretches_[lane];
  while (!take(mine)) {
    if (!steal(lane)) {
      return std::nullopt;
    }
  }
  return mine.hand_first++;
}

bool BlockDeal::take(Stretch& mine) {
  auto word = mine.blocks.load(relaxed);
  while (true) {
    const auto left = unpack(word);
    if (left.size() == 0) {
      return false;
    }
    const auto n = std::clamp(left.size() / 4, 1U, most_at_a_time);
    if (mine.blocks.compare_exchange_weak(word, pack({left.first + n, left.last}), relaxed)) {
      mine.hand_first = left.first;
      mine.hand_last = left.first + n;
      return true;
    }
  }
}

/// The larger half of the first stretch that is not empty becomes ours. Nobody else adds to an
/// empty stretch but its lane, so ours can be written without care for others.
bool BlockDeal::steal(std::size_t lane) {
  for (std::size_t i = 1; i < stretches_.size(); ++i) {
    auto& other = stretches_[(lane + i) % stretches_.size()];
    auto word = other.blocks.load(relaxed);
    while (unpack(word).size() != 0) {
      const auto left = unpack(word);
      const auto middle = left.first + left.size() / 2;
      if (other.blocks.compare_exchange_weak(word, pack({left.first, middle}), relaxed)) {
        stretches_[lane].blocks.store(pack({middle, left.last}), relaxed);
        return true;
      }
    }
  }
  return false;
}

}  // namespace forkrun
