#include <forkrun/concurrency/executor.hpp>

#include <stdexcept>

#ifdef FORKRUN_HAS_DISPATCH
#include <dispatch/dispatch.h>

#include <forkrun/concurrency/team.hpp>
#endif

namespace forkrun {

#ifdef FORKRUN_HAS_DISPATCH

namespace {

/// Threads of the global concurrent queue, in one group.
class DispatchThreads final : public ThreadSource {
 public:
  DispatchThreads() : group_{dispatch_group_create()} {}
  ~DispatchThreads() override { dispatch_release(group_); }
  DispatchThreads(const DispatchThreads&) = delete;
  DispatchThreads& operator=(const DispatchThreads&) = delete;

  void start(std::size_t n, const std::function<void()>& body) override {
    body_ = body;
    auto* const queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
    for (std::size_t i = 0; i < n; ++i) {
      dispatch_group_async_f(group_, queue, &body_, [](void* function) {
        (*static_cast<std::function<void()>*>(function))();
      });
    }
  }
  void join() override { dispatch_group_wait(group_, DISPATCH_TIME_FOREVER); }

 private:
  dispatch_group_t group_;
  std::function<void()> body_;
};

}  // namespace

bool has_dispatch_executor() { return true; }

std::unique_ptr<Executor> make_dispatch_executor(std::size_t n_threads) {
  return std::make_unique<Team>(n_threads, std::make_unique<DispatchThreads>());
}

#else

bool has_dispatch_executor() { return false; }

std::unique_ptr<Executor> make_dispatch_executor(std::size_t /*n_threads*/) {
  throw std::runtime_error{
      "forkrun was built without libdispatch; install it (dispatch/dispatch.h, libdispatch.so) and "
      "build again, or use the executor tbb"};
}

#endif

}  // namespace forkrun
