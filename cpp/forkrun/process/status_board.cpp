#include <forkrun/process/status_board.hpp>

#include <time.h>

#include <string>

namespace forkrun {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "processes share these: a lock would be private to each");

std::int64_t coarse_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t note_heartbeat(StatusSlot& slot) {
  const auto now_ns = coarse_now_ns();
  slot.heartbeat_ns.store(now_ns,
                          std::memory_order_relaxed);  // For display only.
  return now_ns;
}

StatusBoard::StatusBoard(std::size_t n_children)
    : slots_{n_children, "the status of the children"} {}

}  // namespace forkrun
