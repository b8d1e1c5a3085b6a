#include <forkrun/concurrency/team.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace forkrun {

namespace {

using namespace std::chrono_literals;

/// What is done sooner than this was not worth waking a thread for.
constexpr auto worth_sharing = 3us;
/// Gifts in succession that were not worth it: then the team is throttled.
constexpr int n_unpaid_at_most = 8;
constexpr auto shortest_watch = 50us;
constexpr auto longest_watch = 2ms;

/// The member that the calling thread is, and its team.
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
    : threads_{std::move(threads)},
      advertised_(n_threads / 64 + 1),
      watch_interval_{shortest_watch} {
  AsymmetricBarrier::prepare();
  for (std::uint32_t number = 0; number < n_threads; ++number) {
    members_.push_back(std::make_unique<Member>(*this, number));
  }
  parked_.reserve(n_threads);
  blocked_.reserve(n_threads);
  if (n_threads > 1) {
    threads_->start(n_threads - 1, [this] { begin_worker(); });
  }
}

Team::~Team() {
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
    ++n_active_;
  }
  work(*members_[number]);
}

void Team::run(Task& first) {
  auto& me = *members_.front();
  {
    const std::scoped_lock lock{mutex_};
    is_running_ = true;
    ++n_active_;
  }
  me.ready.push(first);
  work(me);
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
    if (!give(*task)) {
      deque.push(*task);
      break;
    }
  }
  if (members_.size() > 1 && deque.size() != 0 && !deque.is_advertised()) {
    advertise(me);
  }
}

bool Team::give(Task& task) {
  const std::scoped_lock lock{mutex_};
  if (parked_.empty() || is_throttled_) {
    return false;
  }
  parked_.back()->given = &task;
  wake(*parked_.back());
  return true;
}

void Team::advertise(Member& me) {
  me.ready.deque_.set_advertised();
  const auto number = me.ready.number();
  advertised_[number / 64].fetch_or(std::uint64_t{1} << (number % 64));
  // Who parked after our look at the signals and before the line above did not see us. Whoever
  // parks from now on does: both sides write, then read, in the one order of all such operations.
  if ((signals_.load() & work_wanted) != 0) {
    Task* const task = me.ready.deque_.pop_first();
    if (task != nullptr && !give(*task)) {
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
      auto& deque = members_[word * 64 + bit]->ready.deque_;
      const auto stolen = deque.steal(limit);
      if (stolen.found == TaskDeque::Found::task) {
        me.given_at = Clock::now();
        return stolen.task;
      }
      if (stolen.found == TaskDeque::Found::nothing && !deque.is_advertised()) {
        advertised_[word].fetch_and(~(std::uint64_t{1} << bit));
        if (deque.is_advertised()) {  // Again, since we looked.
          advertised_[word].fetch_or(std::uint64_t{1} << bit);
        }
      }
    }
  }
  return nullptr;
}

// Parking

/// What was given to us, or null when we were woken for another reason.
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
    me.given_at = Clock::now();
  }
  return task;
}

/// False if there is something to do after all.
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

/// False if somebody else has woken us already: the bell rings, or will.
bool Team::get_up(Member& me) {
  const std::scoped_lock lock{mutex_};
  if (!me.is_parked) {
    return false;
  }
  wake(me);
  return true;
}

/// Until we are not parked any more. One of the parked has to watch a team that is throttled.
void Team::wait_for_bell(Member& me) {
  bool is_watcher = false;
  while (goes_on_waiting(me, is_watcher)) {
    if (!is_watcher) {
      me.bell.acquire();
      continue;
    }
    const auto start = Clock::now();
    (void)me.bell.try_acquire_for(watch_interval_.load());
    const std::scoped_lock lock{mutex_};
    if (me.is_parked) {
      watch(Clock::now() - start);
      if (!is_throttled_ && is_advertised()) {
        wake(me);
      }
    }
  }
}

bool Team::goes_on_waiting(Member& me, bool& is_watcher) {
  const std::scoped_lock lock{mutex_};
  const bool was_watcher = is_watcher;
  is_watcher = me.is_parked && is_throttled_ && (was_watcher || !has_watcher_);
  if (was_watcher || is_watcher) {
    has_watcher_ = is_watcher;
  }
  if (was_watcher && !is_watcher && is_throttled_ && !parked_.empty()) {
    parked_.back()->bell.release();  // Takes over.
  }
  return me.is_parked;
}

void Team::wake(Member& member) {
  std::erase(parked_, &member);
  member.is_parked = false;
  ++n_active_;
  update_signals();
  member.bell.release();
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

/// Out of work: did what we got from others last?
void Team::settle(Member& me) {
  if (me.given_at == Clock::time_point{}) {
    return;
  }
  const auto lasted = Clock::now() - std::exchange(me.given_at, {});
  if (lasted >= worth_sharing) {
    n_unpaid_ = 0;
    watch_interval_ = shortest_watch;
    return;
  }
  if (n_unpaid_.fetch_add(1) + 1 >= n_unpaid_at_most) {
    const std::scoped_lock lock{mutex_};
    is_throttled_ = true;
    update_signals();
  }
}

/// Are the tasks of all active members still short?
void Team::watch(Clock::duration elapsed) {
  bool all_short = n_active_ > 0;
  for (const auto& member : members_) {
    const auto n_executed = member->ready.n_executed_.load(std::memory_order_relaxed);
    const auto n_new = n_executed - std::exchange(member->n_executed_seen, n_executed);
    if (!member->is_parked && n_new * worth_sharing < elapsed) {
      all_short = false;
    }
  }
  watch_interval_ = std::min<Clock::duration>(2 * watch_interval_.load(), longest_watch);
  if (!all_short) {
    end_throttling();
  }
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
    wake(*parked_.back());
    return;
  }
  injected_.push_back(&task);
  update_signals();
  for (auto* const member : blocked_) {
    member->bell.release();
  }
}

// Waiting in the middle of a task

ReadyTasks* ReadyTasks::of_this_thread() { return here; }

void ReadyTasks::share() { team_.share(*team_.members_[number_]); }

void ReadyTasks::Wakeup::execute(ReadyTasks& /*ready*/) noexcept {
  auto& waiting = waiting_;  // We may be gone as soon as we are done.
  is_done_.store(true, std::memory_order_release);
  waiting.team_.members_[waiting.number_]->bell.release();
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
  if (me.ready.deque_.size() != 0) {  // Tasks that are not for us now, however short.
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
  me.bell.acquire();
  const std::scoped_lock lock{mutex_};
  std::erase(blocked_, &me);
}

// Loops

namespace {

/// What the threads of one `for_each` share. Indices are taken one by one.
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
  if (here != nullptr && &here->team_ == this) {
    for_each_here(*members_[here->number_], n, body);
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
  // Those that nobody has taken are the last ones of our deque.
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
