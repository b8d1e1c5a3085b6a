#include <forkrun/core/run/lane_status.hpp>

#include <algorithm>
#include <utility>

namespace forkrun {

void LaneStatus::tell() {
  if (slot_ == nullptr) {
    return;
  }
  if (!is_alone_) {
    slot_->n_events_done.fetch_add(std::exchange(n_events_, 0), std::memory_order_relaxed);
  }
  n_blocks_untold_ = 0;
  const auto now_ns = note_heartbeat(*slot_);
  const bool is_quick = now_ns == std::exchange(told_at_ns_, now_ns);  // The clock has not ticked.
  n_blocks_at_most_ = is_quick ? std::min(2 * n_blocks_at_most_, 64U) : 1;
}

}  // namespace forkrun
