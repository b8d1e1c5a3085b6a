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

  /// Executes `first` and all that follows from it; returns when nothing is left, and nothing is
  /// expected from outside. Executors are driven by one thread at a time.
  virtual void run(Task& first) = 0;

  /// From a task: something outside (a timer, a device, a server) has been asked to call `submit`
  /// once, from whatever thread and whenever it likes; `run` waits for that.
  virtual void expect_outside() = 0;
  /// From outside, once for each `expect_outside`: has a task executed by some thread.
  virtual void submit(Task& task) = 0;
  /// Called instead of `submit` by what has expected it: it will not come.
  virtual void expect_no_more() = 0;

  /// Calls body(0) … body(n - 1), in any order and on any threads, and returns when all are done.
  /// The calling thread takes part and executes nothing else meanwhile. Rethrows what `body` threw.
  virtual void for_each(std::size_t n, const std::function<void(std::size_t)>& body) = 0;
};

/// Executes everything on the calling thread.
[[nodiscard]] std::unique_ptr<Executor> make_serial_executor();

/// `n_threads` threads, which may be more than there are cores: oneTBB's, or, where forkrun was
/// built without it, those of the standard library.
[[nodiscard]] std::unique_ptr<Executor> make_executor(std::size_t n_threads);

/// libdispatch with `n_threads` threads, which may be more than there are cores; 256 at most.
/// \throws std::runtime_error where forkrun was built without libdispatch, or for more threads
[[nodiscard]] std::unique_ptr<Executor> make_dispatch_executor(std::size_t n_threads);

}  // namespace forkrun
