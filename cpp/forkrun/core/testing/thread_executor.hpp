#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <forkrun/concurrency/executor.hpp>
#include <forkrun/concurrency/ready_tasks.hpp>

namespace forkrun::testing {

/// The plainest executor with threads: one queue, one lock. For sanitizers, which understand it
/// wholly, and as a further opinion on what an executor does.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(std::size_t n_threads) : n_threads_{n_threads} {}

  [[nodiscard]] std::size_t n_threads() const noexcept override { return n_threads_; }

  void run(Task& first) override {
    submit(first);
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < n_threads_; ++i) {
      threads.emplace_back([this] { work(); });
    }
    work();
  }

  void submit(Task& task) override {
    const std::scoped_lock lock{mutex_};
    ++n_under_way_;
    waiting_.push_back(&task);
    changed_.notify_one();
  }

  void for_each(std::size_t n, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      body(i);
    }
  }

 private:
  void work() {
    std::unique_lock lock{mutex_};
    while (true) {
      changed_.wait(lock, [this] { return !waiting_.empty() || n_under_way_ == 0; });
      if (waiting_.empty()) {
        return;
      }
      Task& task = *waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      ReadyTasks{*this}.run(task);
      lock.lock();
      if (--n_under_way_ == 0) {
        changed_.notify_all();
      }
    }
  }

  std::size_t n_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task*> waiting_;
  std::size_t n_under_way_{};
};

}  // namespace forkrun::testing
