#pragma once

#include <cstddef>

#include <forkrun/core/module/block.hpp>
#include <forkrun/core/module/module.hpp>

namespace forkrun {

/// Whether filters have left an event. `left`: argument of `produce_left` and `filter_left`; empty:
/// all.
[[nodiscard]] inline bool is_left(Mask left, std::size_t event) {
  return left.empty() || left[event] != 0;
}

/// Calls `body(event)` for each event of the block that filters have left.
template <typename Body>
void for_each_left(const EventBlock& block, Mask left, Body body) {
  for (std::size_t event = 0; event < block.n_events(); ++event) {
    if (is_left(left, event)) {
      body(event);
    }
  }
}

}  // namespace forkrun
