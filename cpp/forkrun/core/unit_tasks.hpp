#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/concurrency/ordered_task_queue.hpp>
#include <forkrun/core/block_deal.hpp>
#include <forkrun/core/block_loop.hpp>
#include <forkrun/core/errors.hpp>
#include <forkrun/core/lane.hpp>
#include <forkrun/core/module_queue.hpp>

namespace forkrun {

/// What has to be passed before a node is called: its turn in block order, then its queues.
struct Entrance {
  OrderedTaskQueue* order{};  ///< null where any order will do
  std::span<ModuleQueue* const> queues;
};

/// What the lanes share while a unit is processed: its blocks, the queues before modules that
/// cannot take every block at once, and the first failure.
///
/// After a failure no module is called any more, but every task still takes its course: it waits
/// for its turn, passes it on, tells who waits for it. So all blocks end in the ordinary way.
class UnitTasks {
 public:
  UnitTasks(const Graph& graph, std::size_t n_lanes, Executor& executor, Parallel& parallel,
            StopOrder stop);

  void begin(const UnitOfWork& unit, std::span<const EntryRange> blocks);
  /// None when there are no more, or the unit has failed.
  [[nodiscard]] std::optional<BlockToDo> next_block(std::size_t lane) {
    if (has_failed()) {
      return std::nullopt;
    }
    // A block once taken must take its course: others may wait for its turn.
    const auto number = deal_.next(lane);
    if (!number) {
      return std::nullopt;
    }
    if (stop_.is_given()) [[unlikely]] {
      fail(*number, std::make_exception_ptr(Stopped{}));
    }
    return BlockToDo{lumi_, blocks_[*number], *number, iov_};
  }

  void fail(std::uint64_t sequence, std::exception_ptr failure);
  // Relaxed: a module called a moment later than need be does no harm.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }
  void rethrow_failure();

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Executor& executor() { return executor_; }
  [[nodiscard]] Parallel& parallel() { return parallel_; }
  [[nodiscard]] std::size_t n_lanes() const { return n_lanes_; }
  [[nodiscard]] const Entrance& entrance(std::uint32_t node) const { return entrances_[node]; }
  /// Analyzers, and gates behind which there is nothing: when all have ended, the paths have.
  [[nodiscard]] std::uint32_t n_path_ends() const { return n_path_ends_; }

 private:
  const Graph& graph_;
  Executor& executor_;
  Parallel& parallel_;
  std::size_t n_lanes_;
  StopOrder stop_;
  std::uint32_t n_path_ends_{};
  std::deque<ModuleQueue> queues_;
  std::deque<OrderedTaskQueue> orders_;
  std::vector<ModuleQueue*> queues_of_nodes_;
  std::vector<Entrance> entrances_;  ///< by node

  LumiId lumi_;
  std::uint32_t iov_{};
  std::span<const EntryRange> blocks_;
  BlockDeal deal_;
  std::atomic<bool> has_failed_{};
  std::mutex failure_mutex_;
  std::uint64_t failed_sequence_{};
  std::exception_ptr failure_;
};

}  // namespace forkrun
