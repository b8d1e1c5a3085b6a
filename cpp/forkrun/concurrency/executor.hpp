#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <forkrun/concurrency/task.hpp>

namespace forkrun {

/// Threads that execute tasks. Results must not depend on the kind of executor.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Number of threads, including the one that waits in `run`.
  [[nodiscard]] virtual std::size_t n_threads() const noexcept = 0;

  /// Executes `first` and all tasks that follow from it; returns when no task is left, and none is
  /// expected from outside. Executors are driven by one thread at a time.
  virtual void run(Task& first) = 0;

  /// From a task: something outside (a timer, a device, a server) has been asked to call `submit`
  /// once, on any thread at any time; `run` waits for that.
  virtual void expect_outside() = 0;
  /// From outside, once for each `expect_outside`: has a thread execute a task.
  virtual void submit(Task& task) = 0;
  /// Called instead of `submit`: the expected task will not come.
  virtual void expect_no_more() = 0;

  /// Calls body(0) … body(n - 1), in any order and on any threads, and returns when all are done.
  /// The calling thread takes part and executes nothing else meanwhile. Rethrows exceptions of
  /// `body`.
  virtual void for_each(std::size_t n, const std::function<void(std::size_t)>& body) = 0;
};

/// Executes everything on the calling thread.
[[nodiscard]] std::unique_ptr<Executor> make_serial_executor();

/// `n_threads` threads, possibly more than cores: oneTBB's, or, where forkrun was built without it,
/// those of the standard library.
[[nodiscard]] std::unique_ptr<Executor> make_executor(std::size_t n_threads);

/// libdispatch with `n_threads` threads, possibly more than cores; 256 at most.
/// \throws std::runtime_error where forkrun was built without libdispatch, or for more threads
[[nodiscard]] std::unique_ptr<Executor> make_dispatch_executor(std::size_t n_threads);

}  // namespace forkrun
