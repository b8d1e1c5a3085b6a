#include <forkrun/core/run/lane_status.hpp>

#include <algorithm>
#include <utility>

namespace forkrun {

void LaneStatus::report() {
  if (slot_ == nullptr) {
    return;
  }
  if (!is_alone_) {
    slot_->n_events_done.fetch_add(std::exchange(n_events_, 0), std::memory_order_relaxed);
  }
  reported_at_ns_ = note_heartbeat(*slot_);
  has_just_reported_ = true;
}

void LaneStatus::check_clock() {
  const bool is_quick = coarse_now_ns() == reported_at_ns_;  // The clock has not ticked.
  n_blocks_at_most_ = is_quick ? std::min(2 * n_blocks_at_most_, 64U) : 1;
  n_blocks_unseen_ = 0;
  if (!is_quick) {
    report();
  }
}

}  // namespace forkrun
