#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/core/lane.hpp>
#include <forkrun/core/status_board.hpp>

namespace forkrun {

/// Whether the parent wants no further block to be begun.
class StopOrder {
 public:
  /// `status` may be null: then never.
  explicit StopOrder(const StatusSlot* status) : status_{status} {}
  [[nodiscard]] bool is_given() const {
    // Relaxed: a block more or less does not matter.
    return status_ != nullptr && status_->order.load(std::memory_order_relaxed) >=
                                     static_cast<std::uint32_t>(Order::end_after_block);
  }

 private:
  const StatusSlot* status_;
};

/// Makes the lane of this number.
using MakeLane = std::function<std::unique_ptr<Lane>(std::size_t number)>;

/// Takes the blocks of a unit through a graph.
class BlockLoop {
 public:
  virtual ~BlockLoop() = default;

  /// All blocks have ended when this returns. \throws Error of the first failure that was seen; no
  /// module is called any more after it. \throws Stopped if an order came before the last block.
  virtual void run(const UnitOfWork& unit, std::span<const EntryRange> blocks) = 0;
  /// For what is done between blocks: opening and closing outputs.
  [[nodiscard]] virtual Parallel& parallel() = 0;
  /// Between units.
  [[nodiscard]] virtual std::vector<Lane*> lanes() = 0;
};

/// One block at a time, by plain calls on the calling thread: without tasks.
[[nodiscard]] std::unique_ptr<BlockLoop> make_serial_loop(const Graph& graph,
                                                          const MakeLane& make_lane,
                                                          StopOrder stop);

/// `n_lanes` blocks at a time on the threads of an executor; as tasks where there are threads that
/// have nothing to do, or always.
[[nodiscard]] std::unique_ptr<BlockLoop> make_task_loop(const Graph& graph,
                                                        const MakeLane& make_lane,
                                                        std::size_t n_lanes, bool always_tasks,
                                                        std::unique_ptr<Executor> executor,
                                                        StopOrder stop);

}  // namespace forkrun
