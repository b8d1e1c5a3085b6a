#pragma once

#include <cstddef>
#include <cstdint>

#include <forkrun/core/module/block.hpp>
#include <forkrun/process/status_board.hpp>

namespace forkrun {

/// Writes a lane's activity to the status board.
///
/// A single lane writes its events and counts with every block, by plain stores; only the clock is
/// read once in a while. Lanes that share a slot would wait for each other's cache line: with small
/// blocks they report only when the clock has ticked.
class LaneStatus {
 public:
  LaneStatus() = default;
  /// `slot` may be null.
  LaneStatus(StatusSlot* slot, bool is_alone) : slot_{slot}, is_alone_{is_alone} {
    if (slot != nullptr) {
      n_events_ = is_alone ? slot->n_events_done.load() : 0;
    }
  }

  void begin_block(const EventBlock& block) {
    if (slot_ != nullptr && (is_alone_ || has_just_reported_)) {
      report_begin(block);
    }
  }
  void end_block(const EventBlock& block) {
    if (slot_ == nullptr) {
      return;
    }
    n_events_ += block.n_events();
    has_just_reported_ = false;
    if (is_alone_) {
      slot_->n_events_done.store(n_events_, std::memory_order_relaxed);
    }
    if (block.n_events() >= 64) {
      report();
    } else if (++n_blocks_unseen_ >= n_blocks_at_most_) {
      check_clock();
    }
  }
  /// Between units.
  void report();

 private:
  void check_clock();
  void report_begin(const EventBlock& block) {
    constexpr auto relaxed = std::memory_order_relaxed;  // For display only.
    if (block.n_events() != 0) {
      slot_->first_event.store(block.events().front(), relaxed);
      slot_->last_event.store(block.events().back(), relaxed);
    }
  }

  StatusSlot* slot_{};
  bool is_alone_{};
  bool has_just_reported_ = true;
  std::uint32_t n_blocks_at_most_ = 1;  ///< until the clock is read again
  std::uint32_t n_blocks_unseen_{};     ///< since the last report
  std::int64_t reported_at_ns_{};
  std::uint64_t n_events_{};  ///< single lane: of the child; else: not reported yet
};

}  // namespace forkrun
