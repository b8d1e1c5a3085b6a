#include <forkrun/core/lane_status.hpp>

namespace forkrun {

void LaneStatus::tell() {
  if (slot_ == nullptr) {
    return;
  }
  if (!is_alone_) {
    slot_->n_events_done.fetch_add(n_events_untold_, std::memory_order_relaxed);
  }
  n_events_untold_ = 0;
  n_blocks_untold_ = 0;
  note_heartbeat(*slot_);
}

}  // namespace forkrun
