#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/concurrency/waiting_task_list.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/core/run/lane.hpp>
#include <forkrun/process/status_board.hpp>

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

/// Whether the parent has asked to begin no further block.
class StopOrder {
 public:
  /// `status` may be null: then false.
  explicit StopOrder(const StatusSlot* status) : status_{status} {}
  [[nodiscard]] bool is_given() const {
    // Relaxed: one block more or less does not matter.
    return status_ != nullptr && status_->order.load(std::memory_order_relaxed) >=
                                     static_cast<std::uint32_t>(Order::end_after_block);
  }

 private:
  const StatusSlot* status_;
};

/// A unit with the paths of its temporary files, by label of the output.
struct UnitToDo {
  UnitOfWork unit{};
  std::map<std::string, std::string> outputs{};
  bool is_alone{};  ///< never in flight with others: so a crash of the child is this unit's
};

/// A unit in flight: its blocks, their results, and the first failure.
///
/// After a failure no module is called any more, but every task still takes its course: it waits
/// for its turn, passes it on, wakes its waiters. So all blocks end in the ordinary way.
class UnitInFlight {
 public:
  UnitInFlight(std::size_t n_lanes, bool is_one_by_one) : deal_{n_lanes, is_one_by_one} {}

  /// Begins another unit, while nothing else uses this object. `blocks` are swapped in.
  void begin(UnitToDo to_do, BlockList& blocks, StopOrder stop);

  [[nodiscard]] const UnitOfWork& unit() const { return to_do_.unit; }
  [[nodiscard]] const std::map<std::string, std::string>& outputs() const { return to_do_.outputs; }
  [[nodiscard]] bool is_alone() const { return to_do_.is_alone; }
  [[nodiscard]] std::size_t n_blocks() const { return blocks_.size(); }
  [[nodiscard]] BlockToDo block(std::uint32_t number) const {
    return {lumis_of(number), blocks_[number], number, to_do_.unit.iov, first_event_of(number)};
  }
  /// Number of a block; `no_block` when there are no more, or the unit has failed.
  static constexpr auto no_block = BlockDeal::no_block;
  [[nodiscard]] std::uint32_t next_block(std::size_t lane) {
    if (has_failed()) {
      return no_block;
    }
    // A block once taken must take its course: others may wait for its turn.
    const auto number = deal_.next(lane);
    if (number != no_block && is_stopped()) [[unlikely]] {
      fail(at_block(number), std::make_exception_ptr(Stopped{}));
    }
    return number;
  }
  /// The next block for a single lane.
  [[nodiscard]] std::optional<BlockToDo> coming_block(std::size_t lane) const {
    const auto number = has_failed() ? std::nullopt : deal_.coming(lane);
    return number ? std::optional{block(*number)} : std::nullopt;
  }
  /// Whether the parent has asked to begin no further block.
  [[nodiscard]] bool is_stopped() const { return stop_.is_given(); }
  /// Whether all blocks were taken; lanes may still be working on some.
  [[nodiscard]] bool is_dealt() const { return has_failed() || deal_.is_over(); }

  /// Places of failures, in the serial order.
  static constexpr std::uint64_t at_begin = 0;
  [[nodiscard]] static std::uint64_t at_block(std::uint64_t sequence) { return sequence + 1; }
  static constexpr std::uint64_t at_end = ~std::uint64_t{0};
  /// Notes a failure; the earliest is kept.
  void fail(std::uint64_t where, std::exception_ptr failure);
  /// Calls its modules no more: an earlier unit has failed or a stop was requested.
  void drop() { is_dropped_ = has_failed_ = true; }
  [[nodiscard]] bool is_dropped() const { return is_dropped_; }
  // Relaxed: a module may still be called a moment later.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }
  /// The failure, when all blocks have ended; null: it was dropped, or all is well.
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

  /// Closed when this is the committing unit: tasks waiting for that may continue.
  [[nodiscard]] WaitingTaskList& committing() { return committing_; }

  /// Adds the work of a lane that has left the unit.
  void add(const Lane::Share& share);

  UnitResult result;
  std::size_t n_lanes_inside{};  ///< for a UnitSequence

 private:
  [[nodiscard]] BlockLumis lumis_of(std::uint32_t block) const {
    if (lumis_.empty()) {
      return to_do_.unit.lumi;
    }
    const auto first = first_lumi_[block];
    return BlockLumis{std::span{lumis_}.subspan(first, first_lumi_[block + 1] - first)};
  }
  [[nodiscard]] std::size_t first_event_of(std::uint32_t block) const {
    return lumis_.empty() ? 0 : first_event_[block];
  }
  void share_lumis();

  UnitToDo to_do_;
  BlockList blocks_;
  std::vector<LumiSpan> lumis_;           ///< block after block; empty for one lumi
  std::vector<std::size_t> first_lumi_;   ///< by block, and the total
  std::vector<std::size_t> first_event_;  ///< by block
  StopOrder stop_{nullptr};
  BlockDeal deal_;
  WaitingTaskList committing_;
  std::atomic<bool> has_failed_{};
  bool is_dropped_{};
  std::mutex failure_mutex_;
  std::uint64_t failed_where_{};
  std::exception_ptr failure_;
};

}  // namespace forkrun
