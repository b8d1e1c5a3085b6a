#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>

#include <forkrun/concurrency/executor.hpp>

namespace forkrun {

/// Functions called on the threads of an executor, for a caller that waits for all of them:
///
///     TaskGroup group;
///     group.run([&] { … });
///     group.run([&] { … });
///     group.wait();   // takes part; rethrows the first exception
///
/// For use within a task. The functions must not wait for products.
class TaskGroup {
 public:
  TaskGroup();
  /// Waits, if need be; exceptions of the functions are lost then.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void run(std::function<void()> function);
  void wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forkrun
