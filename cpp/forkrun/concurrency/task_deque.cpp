#include <forkrun/concurrency/task_deque.hpp>

#include <thread>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <forkrun/concurrency/relax.hpp>

namespace forkrun {

namespace {

long membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

bool AsymmetricBarrier::is_free_ = false;

void AsymmetricBarrier::prepare() {
  // Kernels before 4.14 and some sandboxes lack it: both sides then issue a full barrier.
  const bool is_free = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  if (is_free != is_free_) {  // No second write while other teams work.
    is_free_ = is_free;
  }
}

void AsymmetricBarrier::heavy() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (is_free_) {
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  }
}

void BiasedLock::wait_while(const std::atomic<bool>& somebody) {
  constexpr int n_relaxed = 1000;  // as long as a heavy barrier may take
  for (int i = 0; somebody.load(std::memory_order_acquire); ++i) {
    if (i < n_relaxed) {
      relax();
    } else {
      std::this_thread::yield();  // another thread may need this CPU to continue
    }
  }
}

void BiasedLock::step_back() {
  do {
    inside_.store(false, std::memory_order_release);
    wait_while(visited_);
    inside_.store(true, std::memory_order_relaxed);
    AsymmetricBarrier::light();
  } while (visited_.load(std::memory_order_acquire));
}

}  // namespace forkrun
