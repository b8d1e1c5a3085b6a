#include <memory>
#include <utility>
#include <vector>

#include <forkrun/core/run/block_loop.hpp>
#include <forkrun/core/run/lane_tasks.hpp>
#include <forkrun/core/run/unit_tasks.hpp>

namespace forkrun {

namespace {

class ExecutorParallel final : public Parallel {
 public:
  explicit ExecutorParallel(Executor& executor) : executor_{executor} {}
  void for_each(std::size_t n, const std::function<void(std::size_t)>& body) override {
    executor_.for_each(n, body);
  }

 private:
  Executor& executor_;
};

class TaskLoop final : public BlockLoop {
 public:
  TaskLoop(const Graph& graph, const MakeLane& make_lane, std::size_t n_lanes, UnitLimits limits,
           std::unique_ptr<Executor> executor)
      : executor_{std::move(executor)},
        parallel_{*executor_},
        shared_{graph, n_lanes, *executor_, parallel_},
        units_{shared_, limits} {
    for (std::size_t number = 0; number < n_lanes; ++number) {
      lanes_.push_back(make_lane(number));
      lane_tasks_.push_back(std::make_unique<LaneTasks>(shared_, units_, *lanes_.back()));
    }
  }

  void run(UnitSteps& steps) override {
    std::vector<Task*> lanes;
    for (const auto& lane : lane_tasks_) {
      lanes.push_back(&lane->begin_task());
    }
    if (auto* const first = units_.start(steps, lanes)) {
      executor_->run(*first);
    }
    units_.rethrow_failure();
    steps.rethrow_failure();
  }

 private:
  std::unique_ptr<Executor> executor_;
  ExecutorParallel parallel_;
  UnitTasks shared_;
  UnitSequence units_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<LaneTasks>> lane_tasks_;
};

}  // namespace

std::unique_ptr<BlockLoop> make_task_loop(const Graph& graph, const MakeLane& make_lane,
                                          std::size_t n_lanes, UnitLimits limits,
                                          std::unique_ptr<Executor> executor) {
  return std::make_unique<TaskLoop>(graph, make_lane, n_lanes, limits, std::move(executor));
}

}  // namespace forkrun
