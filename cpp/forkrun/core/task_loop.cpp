#include <memory>
#include <utility>
#include <vector>

#include <forkrun/core/block_loop.hpp>
#include <forkrun/core/lane_tasks.hpp>
#include <forkrun/core/unit_tasks.hpp>

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
  TaskLoop(const Graph& graph, const MakeLane& make_lane, std::size_t n_lanes, bool always_tasks,
           std::unique_ptr<Executor> executor, StopOrder stop)
      : executor_{std::move(executor)},
        parallel_{*executor_},
        unit_{graph, n_lanes, *executor_, parallel_, stop},
        start_{*this} {
    for (std::size_t number = 0; number < n_lanes; ++number) {
      lanes_.push_back(make_lane(number));
      lane_tasks_.push_back(std::make_unique<LaneTasks>(unit_, *lanes_.back(), always_tasks));
    }
  }

  void run(const UnitOfWork& unit, std::span<const EntryRange> blocks) override {
    unit_.begin(unit, blocks);
    executor_->run(start_);
    unit_.rethrow_failure();
  }

  [[nodiscard]] Parallel& parallel() override { return parallel_; }

  [[nodiscard]] std::vector<Lane*> lanes() override {
    std::vector<Lane*> lanes;
    lanes.reserve(lanes_.size());
    for (const auto& lane : lanes_) {
      lanes.push_back(lane.get());
    }
    return lanes;
  }

 private:
  /// Sets the lanes going.
  class Start final : public Task {
   public:
    explicit Start(TaskLoop& loop) : loop_{loop} {}
    void execute(ReadyTasks& ready) noexcept override {
      for (const auto& lane : loop_.lane_tasks_) {
        ready.push(lane->begin_task());
      }
    }

   private:
    TaskLoop& loop_;
  };

  std::unique_ptr<Executor> executor_;
  ExecutorParallel parallel_;
  UnitTasks unit_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<LaneTasks>> lane_tasks_;
  Start start_;
};

}  // namespace

std::unique_ptr<BlockLoop> make_task_loop(const Graph& graph, const MakeLane& make_lane,
                                          std::size_t n_lanes, bool always_tasks,
                                          std::unique_ptr<Executor> executor, StopOrder stop) {
  return std::make_unique<TaskLoop>(graph, make_lane, n_lanes, always_tasks, std::move(executor),
                                    stop);
}

}  // namespace forkrun
