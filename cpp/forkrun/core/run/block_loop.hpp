#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/core/run/lane.hpp>
#include <forkrun/core/run/unit_steps.hpp>

namespace forkrun {

/// Makes the lane with this number.
using MakeLane = std::function<std::unique_ptr<Lane>(std::size_t number)>;

/// Limits for units in flight.
struct UnitLimits {
  std::size_t units = 1;
  std::size_t iovs = 1;  ///< contiguous ranges of units of the same IOV
};

/// Takes the blocks of units through a graph.
class BlockLoop {
 public:
  virtual ~BlockLoop() = default;

  /// Runs until there are no more units. All blocks have ended when this returns. \throws Error of
  /// the first failure; units before it are committed, and no module is called after it. \throws
  /// Stopped if the order to stop came before the last block.
  virtual void run(UnitSteps& steps) = 0;
};

/// One block at a time, by plain calls on the calling thread: without tasks.
[[nodiscard]] std::unique_ptr<BlockLoop> make_serial_loop(const Graph& graph,
                                                          const MakeLane& make_lane);

/// `n_lanes` blocks at a time on the threads of an executor, as tasks.
[[nodiscard]] std::unique_ptr<BlockLoop> make_task_loop(const Graph& graph,
                                                        const MakeLane& make_lane,
                                                        std::size_t n_lanes, UnitLimits limits,
                                                        std::unique_ptr<Executor> executor);

}  // namespace forkrun
