#include <forkrun/core/lane_status.hpp>

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
  note_heartbeat(*slot_);
}

}  // namespace forkrun
