#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/concurrency/ordered_task_queue.hpp>
#include <forkrun/concurrency/serial_task_queue.hpp>
#include <forkrun/core/lane.hpp>

namespace forkrun {

/// What the lanes share while a unit is processed: its blocks, the queues before modules that
/// cannot take every block at once, and the first failure.
///
/// After a failure no module is called any more, but every task still takes its course: it waits
/// for its turn, passes it on, tells who waits for it. So all blocks end in the ordinary way.
class UnitTasks {
 public:
  UnitTasks(const Graph& graph, std::size_t n_lanes, Parallel& parallel);

  void begin(LumiId lumi, std::span<const EntryRange> blocks);
  /// None when there are no more, or the unit has failed.
  [[nodiscard]] std::optional<BlockToDo> next_block();

  void fail(std::uint64_t sequence, std::exception_ptr failure);
  // Relaxed: a module called a moment later than need be does no harm.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }
  void rethrow_failure();

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Parallel& parallel() { return parallel_; }
  /// Null for nodes that need none.
  [[nodiscard]] SerialTaskQueue* queue(std::uint32_t node) { return queues_[node]; }
  [[nodiscard]] OrderedTaskQueue* order(std::uint32_t node) { return orders_[node].get(); }
  /// Analyzers, and gates behind which there is nothing: when all have ended, the paths have.
  [[nodiscard]] std::uint32_t n_path_ends() const { return n_path_ends_; }

 private:
  const Graph& graph_;
  Parallel& parallel_;
  std::uint32_t n_path_ends_{};
  SerialTaskQueue unsafe_queue_;
  std::vector<std::unique_ptr<SerialTaskQueue>> own_queues_;
  std::vector<SerialTaskQueue*> queues_;                   ///< by node
  std::vector<std::unique_ptr<OrderedTaskQueue>> orders_;  ///< by node

  LumiId lumi_;
  std::span<const EntryRange> blocks_;
  std::atomic<std::uint64_t> next_block_{};
  std::atomic<bool> has_failed_{};
  std::mutex failure_mutex_;
  std::uint64_t failed_sequence_{};
  std::exception_ptr failure_;
};

}  // namespace forkrun
