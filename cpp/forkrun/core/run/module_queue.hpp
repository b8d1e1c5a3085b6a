#pragma once

#include <cstddef>
#include <optional>

#include <forkrun/concurrency/limited_task_queue.hpp>
#include <forkrun/concurrency/serial_task_queue.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// A queue before modules: lets one block in at a time, or a few.
class ModuleQueue {
 public:
  explicit ModuleQueue(const QueueDescription& description) : is_shared_{description.is_shared} {
    if (description.limit > 1) {
      limited_.emplace(description.limit);
    }
  }

  [[nodiscard]] bool enter(Task& task) {
    return limited_ ? limited_->enter(task) : serial_.enter(task);
  }
  [[nodiscard]] bool try_enter() { return limited_ ? limited_->try_enter() : serial_.try_enter(); }
  [[nodiscard]] Task* leave() { return limited_ ? limited_->leave() : serial_.leave(); }
  /// By several modules: left while one of them waits.
  [[nodiscard]] bool is_shared() const { return is_shared_; }

 private:
  bool is_shared_;
  SerialTaskQueue serial_;
  std::optional<LimitedTaskQueue> limited_;
};

}  // namespace forkrun
