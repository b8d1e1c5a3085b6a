// Sleeping, waking and waiting of a team's threads.

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include <forkrun/concurrency/cpu_clock.hpp>
#include <forkrun/concurrency/team.hpp>
#include <forkrun/concurrency/thread_state.hpp>

namespace forkrun {

namespace {

using namespace std::chrono_literals;

/// Work shorter than this is not worth waking a thread.
constexpr auto worth_sharing = 3us;
/// Gifts in succession that were not worth it: then the team is throttled.
constexpr int n_unpaid_at_most = 8;
constexpr auto longest_watch = 2ms;
/// CPU time that shows how long tasks are: more than most blocks of short ones take.
constexpr std::chrono::nanoseconds enough_cpu = 40us;

/// Number of times that the calling thread had to leave its CPU to others.
long count_involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

// Parking

/// The task given to this member, or null when woken for another reason.
Task* Team::park(Member& me) {
  if (!lie_down(me)) {
    return nullptr;
  }
  if (!is_throttled_ && is_advertised() && get_up(me)) {
    return nullptr;
  }
  wait_for_bell(me);
  Task* const task = std::exchange(me.given, nullptr);
  if (task != nullptr) {
    begin_gift(me);
  }
  return task;
}

/// False if there is work after all.
bool Team::lie_down(Member& me) {
  const std::scoped_lock lock{mutex_};
  if (is_stopping_ || !injected_.empty()) {
    return false;
  }
  parked_.push_back(&me);
  me.is_parked = true;
  --n_active_;
  end_run_if_idle();
  update_signals();
  return true;
}

/// False if another thread has woken it already: the bell rings, or will.
bool Team::get_up(Member& me) {
  const std::scoped_lock lock{mutex_};
  if (!me.is_parked) {
    return false;
  }
  wake(me);
  return true;
}

/// Sleeps until no longer parked. In a throttled team one of the parked members watches.
void Team::wait_for_bell(Member& me) {
  bool is_watcher = false;
  while (keeps_waiting(me, is_watcher)) {
    if (!is_watcher) {
      me.bell.wait();
      continue;
    }
    const auto start = Clock::now();
    me.bell.wait_for(watch_interval_.load());
    const std::scoped_lock lock{mutex_};
    if (me.is_parked) {
      watch(Clock::now() - start);
      if (!is_throttled_ && is_advertised()) {
        wake(me);
      }
    }
  }
}

bool Team::keeps_waiting(Member& me, bool& is_watcher) {
  const std::scoped_lock lock{mutex_};
  const bool was_watcher = is_watcher;
  is_watcher = me.is_parked && is_throttled_ && (was_watcher || !has_watcher_);
  if (was_watcher || is_watcher) {
    has_watcher_ = is_watcher;
  }
  if (was_watcher && !is_watcher && is_throttled_ && !parked_.empty()) {
    parked_.back()->bell.ring();  // It takes over as watcher.
  }
  return me.is_parked;
}

void Team::wake(Member& member) {
  std::erase(parked_, &member);
  member.is_parked = false;
  ++n_active_;
  update_signals();
  member.bell.ring();
}

void Team::end_run_if_idle() {
  auto& caller = *members_.front();
  if (is_running_ && n_active_ == 0 && n_outside_ == 0 && injected_.empty()) {
    is_running_ = false;
    if (caller.is_parked) {
      wake(caller);
    }
    --n_active_;
  }
}

void Team::update_signals() {
  const bool wanted = !parked_.empty() && !is_throttled_;
  signals_ = (wanted ? work_wanted : 0U) | (injected_.empty() ? 0U : work_injected);
}

// Whether sharing pays

/// Begins work from `me.giver`.
void Team::begin_gift(Member& me) {
  me.given_at = Clock::now();
  me.n_executed_at_gift = me.ready.n_executed_.load(std::memory_order_relaxed);
  me.n_switches_at_gift = count_involuntary_switches();
}

/// Time at which the giver ran out of work, or this member: now.
Team::Clock::time_point Team::end_of_gift(const Member& me, Clock::time_point now) {
  if (me.giver == nullptr) {  // Given from outside.
    return now;
  }
  const Clock::time_point ended{
      Clock::duration{me.giver->ran_out_at.load(std::memory_order_relaxed)}};
  return ended > me.made_at ? std::min(ended, now) : now;
}

/// Out of work: whether the work from others was worth it. Short tasks only count while the giver
/// had work itself: else it could have done them, too, and did not have to wait.
void Team::settle(Member& me) {
  const auto now = Clock::now();
  if (me.has_given.exchange(false, std::memory_order_relaxed)) {
    me.ran_out_at.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  if (me.given_at == Clock::time_point{}) {
    return;
  }
  const auto start = std::exchange(me.given_at, {});
  const auto together = end_of_gift(me, now) - start;
  const auto n_executed =
      me.ready.n_executed_.load(std::memory_order_relaxed) - me.n_executed_at_gift;
  const bool has_long_tasks = now - start >= (n_executed + 1) * worth_sharing;
  if (together >= worth_sharing || has_long_tasks) {
    if (me.n_switches_at_gift == count_involuntary_switches()) {  // Else it may hardly have run.
      n_unpaid_ = 0;
      watch_interval_ = shortest_watch;
    }
    return;
  }
  if (n_unpaid_.fetch_add(1) + 1 >= n_unpaid_at_most) {
    const std::scoped_lock lock{mutex_};
    is_throttled_ = true;
    update_signals();
  }
}

/// Whether the tasks of all active members are still short.
void Team::watch(Clock::duration elapsed) {
  bool all_short = n_active_ > 0;
  for (const auto& member : members_) {
    all_short = !has_long_tasks(*member, elapsed) && all_short;
  }
  watch_interval_ = std::min<Clock::duration>(2 * watch_interval_.load(), longest_watch);
  if (!all_short) {
    end_throttling();
  }
}

bool Team::has_long_tasks(Member& member, Clock::duration elapsed) {
  if (member.thread == 0) {  // Not begun.
    return false;
  }
  const auto n_executed = member.ready.n_executed_.load(std::memory_order_relaxed);
  const auto least =
      (n_executed - std::exchange(member.n_executed_seen, n_executed)) * worth_sharing;
  const auto cpu_ns = cpu_clock_ns(member.cpu_clock);
  const std::chrono::nanoseconds cpu{cpu_ns - std::exchange(member.cpu_ns_seen, cpu_ns)};
  if (member.is_parked || elapsed <= least) {
    return false;
  }
  return cpu < enough_cpu ? is_asleep(member.thread) : cpu > least;
}

void Team::end_throttling() {
  is_throttled_ = false;
  n_unpaid_ = 0;
  update_signals();
}

// From outside

void Team::expect_outside() {
  const std::scoped_lock lock{mutex_};
  ++n_outside_;
}

void Team::expect_no_more() {
  const std::scoped_lock lock{mutex_};
  --n_outside_;
  end_run_if_idle();
}

void Team::submit(Task& task) {
  const std::scoped_lock lock{mutex_};
  --n_outside_;
  if (!parked_.empty()) {
    parked_.back()->given = &task;
    parked_.back()->giver = nullptr;
    wake(*parked_.back());
    return;
  }
  injected_.push_back(&task);
  update_signals();
  for (auto* const member : blocked_) {
    member->bell.ring();
  }
}

// Waiting in the middle of a task

void ReadyTasks::Wakeup::execute(ReadyTasks& /*ready*/) noexcept {
  auto& waiting = waiting_;  // `this` may be gone as soon as the wait is over.
  is_done_.store(true, std::memory_order_release);
  waiting.team_.members_[waiting.number_]->bell.ring();
}

void ReadyTasks::work_until(Wakeup& wakeup, Task::Rank limit) {
  team_.work_until(*team_.members_[number_], wakeup, limit);
}

void Team::work_until(Member& me, ReadyTasks::Wakeup& wakeup, Task::Rank limit) {
  while (!wakeup.is_done()) {
    Task* task = me.ready.deque_.pop(limit);
    if (task == nullptr) {
      task = take_injected(limit);
    }
    if (task == nullptr) {
      task = steal(me, limit);
    }
    if (task != nullptr) {
      step(me, *task);
    } else {
      wait_blocked(me, wakeup, limit);
    }
  }
}

void Team::wait_blocked(Member& me, ReadyTasks::Wakeup& wakeup, Task::Rank limit) {
  if (me.ready.deque_.size() != 0) {  // Tasks of too high a rank, however short.
    {
      const std::scoped_lock lock{mutex_};
      end_throttling();
    }
    share(me);
  }
  {
    const std::scoped_lock lock{mutex_};
    const bool has_work =
        std::ranges::any_of(injected_, [&](Task* t) { return t->rank() < limit; });
    if (has_work || wakeup.is_done()) {
      return;
    }
    blocked_.push_back(&me);
  }
  me.bell.wait();
  const std::scoped_lock lock{mutex_};
  std::erase(blocked_, &me);
}

}  // namespace forkrun
