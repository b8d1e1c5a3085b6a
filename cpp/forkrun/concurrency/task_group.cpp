#include <forkrun/concurrency/task_group.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <forkrun/concurrency/team.hpp>

namespace forkrun {

struct TaskGroup::Impl {
  class Call final : public Task {
   public:
    Call(Impl& group, std::function<void()> function)
        : group_{group}, function_{std::move(function)} {}
    void execute(ReadyTasks& ready) noexcept override {
      try {
        function_();
      } catch (...) {
        group_.fail(std::current_exception());
      }
      group_.leave(ready);
    }

   private:
    Impl& group_;
    std::function<void()> function_;
  };

  void fail(std::exception_ptr what) {
    const std::scoped_lock lock{mutex};
    failure = failure ? failure : std::move(what);
  }
  void leave(ReadyTasks& from) {
    if (n_left.fetch_sub(1) == 1) {
      wakeup->execute(from);
    }
  }
  /// The group itself counts as one until it waits.
  void begin() {
    n_left = 1;
    wakeup.emplace(ready);
  }

  ReadyTasks& ready;
  std::deque<Call> calls{};
  std::atomic<std::size_t> n_left{1};
  std::optional<ReadyTasks::Wakeup> wakeup{};
  std::mutex mutex{};
  std::exception_ptr failure{};
};

TaskGroup::TaskGroup() {
  auto* const ready = ReadyTasks::of_this_thread();
  if (ready == nullptr) {
    throw std::logic_error{"a TaskGroup is used within a task of an executor"};
  }
  impl_ = std::make_unique<Impl>(*ready);
  impl_->begin();
}

TaskGroup::~TaskGroup() {
  try {
    wait();
  } catch (...) {  // passed over: documented as lost
  }
}

void TaskGroup::run(std::function<void()> function) {
  ++impl_->n_left;
  impl_->ready.push(impl_->calls.emplace_back(*impl_, std::move(function)));
  impl_->ready.share();
}

void TaskGroup::wait() {
  impl_->leave(impl_->ready);
  impl_->ready.work_until(*impl_->wakeup, 1);  // Tasks that wait for nothing, like the group's.
  impl_->calls.clear();
  impl_->begin();
  if (auto failure = std::exchange(impl_->failure, nullptr)) {
    std::rethrow_exception(failure);
  }
}

}  // namespace forkrun
