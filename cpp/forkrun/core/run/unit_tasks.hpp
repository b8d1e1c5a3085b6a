#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/concurrency/limited_task_queue.hpp>
#include <forkrun/concurrency/ordered_task_queue.hpp>
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
  [[nodiscard]] Task* leave() { return limited_ ? limited_->leave() : serial_.leave(); }
  /// for several modules: a waiting module leaves it
  [[nodiscard]] bool is_shared() const { return is_shared_; }

 private:
  bool is_shared_;
  SerialTaskQueue serial_;
  std::optional<LimitedTaskQueue> limited_;
};

/// Conditions for calling a node: its unit is the committing one, its turn in the order of blocks
/// has come, and its queues let it in.
struct Entrance {
  bool waits_to_commit{};
  OrderedTaskQueue* order{};  ///< null where any order will do
  std::span<ModuleQueue* const> queues;
};

/// Queues before modules that cannot take every block at once, shared by the lanes.
class UnitTasks {
 public:
  UnitTasks(const Graph& graph, std::size_t n_lanes, Executor& executor, Parallel& parallel);

  /// Another unit is the committing one: its first block comes first. While no lane waits for it.
  void reset_orders();

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Executor& executor() { return executor_; }
  [[nodiscard]] Parallel& parallel() { return parallel_; }
  [[nodiscard]] std::size_t n_lanes() const { return n_lanes_; }
  /// Whether some module sees the blocks of a unit in their order.
  [[nodiscard]] bool is_in_order() const { return !orders_.empty(); }
  [[nodiscard]] const Entrance& entrance(std::uint32_t node) const { return entrances_[node]; }
  [[nodiscard]] ModuleQueue& queue(std::uint32_t number) { return queues_[number]; }
  /// Number of analyzers, and of gates without children: when all have ended, the paths have.
  [[nodiscard]] std::uint32_t n_path_ends() const { return n_path_ends_; }

 private:
  const Graph& graph_;
  Executor& executor_;
  Parallel& parallel_;
  std::size_t n_lanes_;
  std::uint32_t n_path_ends_{};
  std::deque<ModuleQueue> queues_;
  std::deque<OrderedTaskQueue> orders_;
  std::vector<ModuleQueue*> queues_of_nodes_;
  std::vector<Entrance> entrances_;  ///< by node
};

}  // namespace forkrun
