#pragma once

#include <atomic>

namespace forkrun {

/// Makes memory barriers of the other threads of the process unnecessary: with the kernel's help a
/// visitor issues the barrier for all of them at once.
///
/// Two threads that each write a flag and then read the other's must both have a full barrier in
/// between, or both may miss the other's write. Where one side passes a hundred million times a
/// second and the other rarely, `heavy` on the rare side (a system call of some microseconds) makes
/// `light` free on the other: it then only holds back the compiler.
class AsymmetricBarrier {
 public:
  /// Once per process, and again after a fork, before `light` and `heavy` are used.
  static void prepare();
  static void light() {
    if (is_free_) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  static void heavy();

 private:
  static bool is_free_;  ///< written while there is one thread
};

/// A lock for one owner, which pays next to nothing, and rare visitors, which pay a system call.
///
///     owner:   inside = true ─ light barrier ─ visited? then step back and wait ─ … ─ inside =
///     false visitor: visited = true ─ heavy barrier ─ wait until not inside ─ … ─ visited = false
class BiasedLock {
 public:
  void enter_as_owner() {
    inside_.store(true, std::memory_order_relaxed);
    AsymmetricBarrier::light();
    // Acquire: we see what the last visitor has done.
    if (visited_.load(std::memory_order_acquire)) {
      step_back();
    }
  }
  void leave_as_owner() { inside_.store(false, std::memory_order_release); }

  /// False if another visitor is there.
  [[nodiscard]] bool try_enter_as_visitor() {
    if (visited_.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    AsymmetricBarrier::heavy();
    wait_while(inside_);
    return true;
  }
  void leave_as_visitor() { visited_.store(false, std::memory_order_release); }

 private:
  void step_back();
  static void wait_while(const std::atomic<bool>& somebody);

  std::atomic<bool> inside_{};
  std::atomic<bool> visited_{};
};

}  // namespace forkrun
