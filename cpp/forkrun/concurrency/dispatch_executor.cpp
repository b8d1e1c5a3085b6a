#include <forkrun/concurrency/executor.hpp>

#include <stdexcept>

#ifdef FORKRUN_HAS_DISPATCH
// Its headers ask for compiler features in clang's syntax, which g++ (12) does not know.
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#ifndef __has_extension
#define __has_extension(extension) 0
#endif
#include <dispatch/dispatch.h>

#include <string>
#include <vector>

#include <forkrun/concurrency/team.hpp>
#endif

namespace forkrun {

#ifdef FORKRUN_HAS_DISPATCH

namespace {

/// Limit of libdispatch's threads, for all queues of the process together.
constexpr std::size_t most_dispatch_threads = 255;

/// Threads of libdispatch, in one group. Each has its own serial queue: only such queues get a
/// thread each, however few cores there are. Concurrent queues share as many threads as there are
/// cores.
class DispatchThreads final : public ThreadSource {
 public:
  DispatchThreads() : group_{dispatch_group_create()} {}
  ~DispatchThreads() override {
    for (auto* const queue : queues_) {
      dispatch_release(queue);
    }
    dispatch_release(group_);
  }
  DispatchThreads(const DispatchThreads&) = delete;
  DispatchThreads& operator=(const DispatchThreads&) = delete;

  void start(std::size_t n, const std::function<void()>& body) override {
    body_ = body;
    for (std::size_t i = 0; i < n; ++i) {
      queues_.push_back(dispatch_queue_create("forkrun", DISPATCH_QUEUE_SERIAL));
      dispatch_group_async_f(group_, queues_.back(), &body_, [](void* function) {
        (*static_cast<std::function<void()>*>(function))();
      });
    }
  }
  void join() override { dispatch_group_wait(group_, DISPATCH_TIME_FOREVER); }

 private:
  dispatch_group_t group_;
  std::vector<dispatch_queue_t> queues_;
  std::function<void()> body_;
};

}  // namespace

std::unique_ptr<Executor> make_dispatch_executor(std::size_t n_threads) {
  if (n_threads > most_dispatch_threads + 1) {
    throw std::runtime_error{"libdispatch has at most " + std::to_string(most_dispatch_threads) +
                             " threads besides the calling one: use at most so many, or the "
                             "executor tbb"};
  }
  return std::make_unique<Team>(n_threads, std::make_unique<DispatchThreads>());
}

#else

std::unique_ptr<Executor> make_dispatch_executor(std::size_t /*n_threads*/) {
  throw std::runtime_error{
      "forkrun was built without libdispatch; install it (dispatch/dispatch.h, libdispatch.so) and "
      "build again, or use the executor tbb"};
}

#endif

}  // namespace forkrun
