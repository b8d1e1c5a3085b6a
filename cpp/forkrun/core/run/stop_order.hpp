#pragma once

#include <cstdint>

#include <forkrun/process/status_board.hpp>

namespace forkrun {

/// Whether the parent wants no further block to be begun.
class StopOrder {
 public:
  /// `status` may be null: then never.
  explicit StopOrder(const StatusSlot* status) : status_{status} {}
  [[nodiscard]] bool is_given() const {
    // Relaxed: a block more or less does not matter.
    return status_ != nullptr && status_->order.load(std::memory_order_relaxed) >=
                                     static_cast<std::uint32_t>(Order::end_after_block);
  }

 private:
  const StatusSlot* status_;
};

}  // namespace forkrun
