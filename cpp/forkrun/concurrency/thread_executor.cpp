#include <thread>
#include <vector>

#include <forkrun/concurrency/team.hpp>

namespace forkrun {

namespace {

class StandardThreads final : public ThreadSource {
 public:
  void start(std::size_t n, const std::function<void()>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      threads_.emplace_back(body);
    }
  }
  void join() override { threads_.clear(); }

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<Executor> make_serial_executor() { return std::make_unique<Team>(1, nullptr); }

std::unique_ptr<Executor> make_thread_executor(std::size_t n_threads) {
  return std::make_unique<Team>(n_threads, std::make_unique<StandardThreads>());
}

}  // namespace forkrun
