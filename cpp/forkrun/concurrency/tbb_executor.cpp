#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/concurrency/ready_tasks.hpp>

namespace forkrun {

namespace {

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(std::size_t n_threads)
      : n_threads_{n_threads},
        limit_{tbb::global_control::max_allowed_parallelism, n_threads},
        arena_{static_cast<int>(n_threads)} {}

  ~TbbExecutor() noexcept override = default;

  [[nodiscard]] std::size_t n_threads() const noexcept override { return n_threads_; }

  void run(Task& first) override {
    arena_.execute([this, &first] {
      submit(first);
      group_.wait();
    });
  }

  void submit(Task& task) override {
    group_.run([this, &task] { ReadyTasks{*this}.run(task); });
  }

  void for_each(std::size_t n, const std::function<void(std::size_t)>& body) override {
    arena_.execute([n, &body] {
      // Isolated: the thread that waits must not begin another block in the middle of this one.
      tbb::this_task_arena::isolate(
          [n, &body] { tbb::parallel_for(std::size_t{0}, n, body, tbb::simple_partitioner{}); });
    });
  }

 private:
  std::size_t n_threads_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
  tbb::task_group group_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(std::size_t n_threads) {
  return std::make_unique<TbbExecutor>(n_threads);
}

}  // namespace forkrun
