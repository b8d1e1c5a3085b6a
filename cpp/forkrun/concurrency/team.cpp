#include <forkrun/concurrency/team.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <forkrun/concurrency/cpu_clock.hpp>

namespace forkrun {

namespace {

/// Member of a team that the calling thread is, and the team.
thread_local ReadyTasks* here = nullptr;

class Here {
 public:
  explicit Here(ReadyTasks& ready) : before_{std::exchange(here, &ready)} {}
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;
  ~Here() { here = before_; }

 private:
  ReadyTasks* before_;
};

}  // namespace

Team::Team(std::size_t n_threads, std::unique_ptr<ThreadSource> threads)
    : threads_{std::move(threads)}, advertised_(n_threads / 64 + 1) {
  AsymmetricBarrier::prepare();
  for (std::uint32_t number = 0; number < n_threads; ++number) {
    members_.push_back(std::make_unique<Member>(*this, number));
  }
  parked_.reserve(n_threads);
  blocked_.reserve(n_threads);
  if (n_threads > 1) {
    try {
      threads_->start(n_threads - 1, [this] { begin_worker(); });
    } catch (...) {  // A thread cannot be started: the others would wait for ever.
      end_threads();
      throw;
    }
  }
}

Team::~Team() { end_threads(); }

void Team::end_threads() {
  {
    const std::scoped_lock lock{mutex_};
    is_stopping_ = true;
    while (!parked_.empty()) {
      wake(*parked_.back());
    }
  }
  if (threads_) {
    threads_->join();
  }
}

void Team::begin_worker() {
  const auto number = n_started_.fetch_add(1);
  {
    const std::scoped_lock lock{mutex_};
    if (is_stopping_ || number >= members_.size()) {
      return;
    }
    begin_here(*members_[number]);
  }
  work(*members_[number]);
}

void Team::run(Task& first) {
  auto& me = *members_.front();
  {
    const std::scoped_lock lock{mutex_};
    is_running_ = true;
    begin_here(me);
  }
  me.ready.push(first);
  work(me);
}

/// Makes the calling thread this member. With the mutex held.
void Team::begin_here(Member& me) {
  ++n_active_;
  me.thread = ::gettid();
  ::pthread_getcpuclockid(::pthread_self(), &me.cpu_clock);
  me.cpu_ns_seen = cpu_clock_ns(me.cpu_clock);
}

void Team::work(Member& me) {
  const Here mark{me.ready};
  while (true) {
    if (has_signal(work_injected)) {
      while (Task* const task = take_injected(Task::any_rank)) {
        me.ready.push(*task);
      }
    }
    Task* task = me.ready.deque_.pop();
    if (task == nullptr) {
      task = find(me);
    }
    if (task == nullptr) {
      return;
    }
    step(me, *task);
  }
}

void Team::step(Member& me, Task& task) {
  if (me.ready.deque_.size() != 0) {
    share(me);
  }
  me.ready.note_progress();
  task.execute(me.ready);
}

// Sharing

void Team::share(Member& me) {
  auto& deque = me.ready.deque_;
  while (has_signal(work_wanted) && deque.size() != 0) {
    Task* const task = deque.pop_first();
    if (task == nullptr) {
      return;
    }
    if (!give(me, *task)) {
      deque.push(*task);
      break;
    }
  }
  if (members_.size() > 1 && deque.size() != 0 && !deque.is_advertised()) {
    advertise(me);
  }
}

bool Team::give(Member& me, Task& task) {
  const std::scoped_lock lock{mutex_};
  if (parked_.empty() || is_throttled_) {
    return false;
  }
  auto& other = *parked_.back();
  other.given = &task;
  other.giver = &me;
  other.made_at = Clock::now();
  me.has_given.store(true, std::memory_order_relaxed);
  wake(other);
  return true;
}

void Team::advertise(Member& me) {
  me.ready.deque_.set_advertised();
  const auto number = me.ready.number();
  advertised_[number / 64].fetch_or(std::uint64_t{1} << (number % 64));
  // A thread that parked after the signals were read and before the line above did not see this
  // one. A thread that parks from now on does: both sides write, then read, in one total order.
  if ((signals_.load() & work_wanted) != 0) {
    Task* const task = me.ready.deque_.pop_first();
    if (task != nullptr && !give(me, *task)) {
      me.ready.push(*task);
    }
  }
}

// Looking for work

Task* Team::find(Member& me) {
  settle(me);
  while (true) {
    if (Task* const task = take_injected(Task::any_rank)) {
      return task;
    }
    if (!is_throttled_.load(std::memory_order_relaxed)) {
      if (Task* const task = steal(me, Task::any_rank)) {
        return task;
      }
    }
    if (Task* const task = park(me)) {
      return task;
    }
    const std::scoped_lock lock{mutex_};
    if (is_stopping_ || (&me == members_.front().get() && !is_running_)) {
      return nullptr;
    }
  }
}

Task* Team::take_injected(Task::Rank limit) {
  if (!has_signal(work_injected)) {
    return nullptr;
  }
  const std::scoped_lock lock{mutex_};
  const auto found = std::ranges::find_if(injected_, [&](Task* t) { return t->rank() < limit; });
  if (found == injected_.end()) {
    return nullptr;
  }
  Task* const task = *found;
  injected_.erase(found);
  update_signals();
  return task;
}

bool Team::is_advertised() const {
  return std::ranges::any_of(advertised_, [](const auto& bits) { return bits.load() != 0; });
}

Task* Team::steal(Member& me, Task::Rank limit) {
  for (std::size_t word = 0; word < advertised_.size(); ++word) {
    for (auto bits = advertised_[word].load(); bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<std::size_t>(__builtin_ctzll(bits));
      auto& other = *members_[word * 64 + bit];
      auto& deque = other.ready.deque_;
      const auto stolen = deque.steal(limit);
      if (stolen.found == TaskDeque::Found::task) {
        begin_gift(me);
        me.giver = &other;
        me.made_at = me.given_at;
        other.has_given.store(true, std::memory_order_relaxed);
        return stolen.task;
      }
      if (stolen.found == TaskDeque::Found::nothing && !deque.is_advertised()) {
        advertised_[word].fetch_and(~(std::uint64_t{1} << bit));
        if (deque.is_advertised()) {  // Again, since the last look.
          advertised_[word].fetch_or(std::uint64_t{1} << bit);
        }
      }
    }
  }
  return nullptr;
}

ReadyTasks* ReadyTasks::of_this_thread() { return here; }
void ReadyTasks::set_of_this_thread(ReadyTasks* ready) { here = ready; }

void ReadyTasks::share() { team_.share(*team_.members_[number_]); }

}  // namespace forkrun
