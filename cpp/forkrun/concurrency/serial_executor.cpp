#include <forkrun/concurrency/executor.hpp>
#include <forkrun/concurrency/ready_tasks.hpp>

namespace forkrun {

namespace {

class SerialExecutor final : public Executor {
 public:
  [[nodiscard]] std::size_t n_threads() const noexcept override { return 1; }

  void run(Task& first) override { ready_.run(first); }

  void submit(Task& task) override { ready_.push(task); }

  void for_each(std::size_t n, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      body(i);
    }
  }

 private:
  ReadyTasks ready_{*this};
};

}  // namespace

std::unique_ptr<Executor> make_serial_executor() { return std::make_unique<SerialExecutor>(); }

}  // namespace forkrun
