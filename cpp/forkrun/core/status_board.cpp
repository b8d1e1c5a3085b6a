#include <forkrun/core/status_board.hpp>

#include <sys/mman.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <forkrun/core/errors.hpp>

namespace forkrun {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "processes share these: a lock would be private to each");

std::int64_t note_heartbeat(StatusSlot& slot) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const auto now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  slot.heartbeat_ns.store(now_ns, std::memory_order_relaxed);  // People read it, nobody acts on it.
  return now_ns;
}

StatusBoard::StatusBoard(std::size_t n_children) {
  if (n_children == 0) {
    return;
  }
  void* memory = ::mmap(nullptr, n_children * sizeof(StatusSlot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error{"no shared memory for the status of " + std::to_string(n_children) +
                " children: " + std::strerror(errno)};
  }
  slots_ = {static_cast<StatusSlot*>(memory), n_children};
  std::uninitialized_value_construct(slots_.begin(), slots_.end());
}

StatusBoard::~StatusBoard() {
  if (!slots_.empty()) {
    ::munmap(slots_.data(), slots_.size_bytes());
  }
}

}  // namespace forkrun
