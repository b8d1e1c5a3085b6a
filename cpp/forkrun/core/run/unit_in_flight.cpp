#include <forkrun/core/run/unit_in_flight.hpp>

#include <algorithm>
#include <utility>

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

void UnitInFlight::begin(UnitToDo to_do, BlockList& blocks, StopOrder stop) {
  to_do_ = std::move(to_do);
  blocks_.swap(blocks);
  share_lumis();
  stop_ = stop;
  deal_.begin(static_cast<std::uint32_t>(blocks_.size()));
  committing_.reset();
  result = {};
  result.n_blocks = blocks_.size();
  is_dropped_ = has_failed_ = false;
  failure_ = nullptr;
}

/// Cuts the unit's lumis where its blocks end.
void UnitInFlight::share_lumis() {
  lumis_.clear();
  first_lumi_.clear();
  first_event_.clear();
  auto lumi = unit().lumis.begin();
  std::size_t first = 0;  // number of the block's first event in the unit
  if (unit().lumis.empty()) {
    return;
  }
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    first_lumi_.push_back(lumis_.size());
    first_event_.push_back(first);
    const auto last = first + static_cast<std::size_t>(n_events_of(blocks_[block]));
    for (; lumi->last < last; ++lumi) {
      lumis_.push_back({lumi->lumi, lumi->last - first});
    }
    lumis_.push_back({lumi->lumi, last - first});
    lumi += lumi->last == last && last < unit().lumis.back().last ? 1 : 0;
    first = last;
  }
  first_lumi_.push_back(lumis_.size());
}

void UnitInFlight::add(const Lane::Share& share) {
  result.read += share.read;
  result.read_calls += share.statistics.read_calls;
  result.read_bytes += share.statistics.read_bytes;
  result.cached_bytes += share.statistics.cached_bytes;
  result.n_column_bytes = std::max(result.n_column_bytes, share.n_column_bytes);
}

void UnitInFlight::fail(std::uint64_t where, std::exception_ptr failure) {
  const std::scoped_lock lock{failure_mutex_};
  if (!failure_ || where < failed_where_) {
    failed_where_ = where;
    failure_ = std::move(failure);
  }
  has_failed_ = true;
}

}  // namespace forkrun
