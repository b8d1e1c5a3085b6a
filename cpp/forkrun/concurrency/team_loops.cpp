// Loops on the threads of a team.

#include <algorithm>
#include <exception>

#include <forkrun/concurrency/team.hpp>

namespace forkrun {

namespace {

/// State shared by the threads of one `for_each`. Indices are taken one by one.
struct Loop {
  std::size_t n;
  const std::function<void(std::size_t)>& body;
  std::atomic<std::size_t> next{};
  std::atomic<std::size_t> n_helping;
  ReadyTasks::Wakeup all_done;
  std::mutex mutex{};
  std::exception_ptr failure{};

  void take_part() noexcept {
    for (auto i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      try {
        body(i);
      } catch (...) {
        const std::scoped_lock lock{mutex};
        failure = failure ? failure : std::current_exception();
      }
    }
  }
};

class Helper final : public Task {
 public:
  explicit Helper(Loop& loop) : loop_{loop} {}
  void execute(ReadyTasks& ready) noexcept override {
    loop_.take_part();
    leave(ready);
  }
  void leave(ReadyTasks& ready) {
    if (loop_.n_helping.fetch_sub(1) == 1) {
      loop_.all_done.execute(ready);
    }
  }

 private:
  Loop& loop_;
};

/// A task that is a function.
class FunctionTask final : public Task {
 public:
  explicit FunctionTask(const std::function<void()>& function) : function_{function} {}
  void execute(ReadyTasks& /*ready*/) noexcept override {
    try {
      function_();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  std::exception_ptr failure{};

 private:
  const std::function<void()>& function_;
};

}  // namespace

void Team::for_each(std::size_t n, const std::function<void(std::size_t)>& body) {
  const auto* const here = ReadyTasks::of_this_thread();
  if (here != nullptr && &here->team() == this) {
    for_each_here(*members_[here->number()], n, body);
    return;
  }
  const std::function<void()> call = [&] { for_each_here(*members_.front(), n, body); };
  FunctionTask task{call};
  run(task);
  if (task.failure) {
    std::rethrow_exception(task.failure);
  }
}

void Team::for_each_here(Member& me, std::size_t n, const std::function<void(std::size_t)>& body) {
  const auto n_helpers = std::min(n, members_.size()) - (n == 0 ? 0 : 1);
  Loop loop{n, body, {}, n_helpers, ReadyTasks::Wakeup{me.ready}};
  std::deque<Helper> helpers;
  for (std::size_t i = 0; i < n_helpers; ++i) {
    me.ready.push(helpers.emplace_back(loop));
  }
  if (n_helpers != 0) {
    share(me);
  }
  loop.take_part();
  // Tasks not taken by others are the last ones of our deque.
  for (std::size_t i = 0; i < n_helpers; ++i) {
    Task* const task = me.ready.deque_.pop();
    const auto mine = std::ranges::find_if(helpers, [&](Helper& h) { return &h == task; });
    if (mine == helpers.end()) {
      if (task != nullptr) {
        me.ready.push(*task);
      }
      break;
    }
    mine->leave(me.ready);
  }
  if (n_helpers != 0) {
    work_until(me, loop.all_done, 0);
  }
  if (loop.failure) {
    std::rethrow_exception(loop.failure);
  }
}

}  // namespace forkrun
