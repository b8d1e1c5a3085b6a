#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/core/run/lane.hpp>
#include <forkrun/core/run/unit_steps.hpp>

namespace forkrun {

/// Makes the lane of this number.
using MakeLane = std::function<std::unique_ptr<Lane>(std::size_t number)>;

/// How many units may be in flight.
struct UnitLimits {
  std::size_t units = 1;
  std::size_t iovs = 1;  ///< contiguous stretches of units of the same IOV
};

/// Takes the blocks of units through a graph.
class BlockLoop {
 public:
  virtual ~BlockLoop() = default;

  /// Until there are no more units. All blocks have ended when this returns. \throws Error of the
  /// first failure; those before it are committed, and no module is called any more after it.
  /// \throws Stopped if an order came before the last block.
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
