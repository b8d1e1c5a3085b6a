#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// Threads that execute tasks. Results must not depend on which one it is.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Threads that execute tasks, the one that waits in `run` included.
  [[nodiscard]] virtual std::size_t n_threads() const noexcept = 0;

  /// Executes `first` and all that follows from it; returns when nothing is left.
  virtual void run(Task& first) = 0;

  /// Has a ready task executed by some thread. Only called from tasks, while `run` waits.
  virtual void submit(Task& task) = 0;

  /// Calls body(0) … body(n - 1), in any order and on any threads, and returns when all are done.
  /// The calling thread takes part and executes nothing else meanwhile. Rethrows what `body` threw.
  virtual void for_each(std::size_t n, const std::function<void(std::size_t)>& body) = 0;
};

/// Executes everything on the calling thread.
[[nodiscard]] std::unique_ptr<Executor> make_serial_executor();

/// oneTBB with `n_threads` threads, more than there are cores if so wished.
[[nodiscard]] std::unique_ptr<Executor> make_tbb_executor(std::size_t n_threads);

}  // namespace forkrun
