#pragma once

#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <forkrun/concurrency/bell.hpp>
#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/concurrency/executor.hpp>
#include <forkrun/concurrency/ready_tasks.hpp>
#include <forkrun/concurrency/waiting_task_list.hpp>

namespace forkrun {

/// Source of a team's threads.
class ThreadSource {
 public:
  virtual ~ThreadSource() = default;
  /// Has `body` called on `n` further threads, all at the same time.
  virtual void start(std::size_t n, const std::function<void()>& body) = 0;
  /// Returns when all these calls have returned.
  virtual void join() = 0;
};

/// Threads that share their ready tasks.
///
/// Every member keeps its tasks to itself until another is idle. Then, before it begins a task, a
/// member gives tasks that it cannot begin at once to parked members; if none was parked then, a
/// member that runs out of work later takes them (`advertised_`). A member that finds no task
/// parks: it sleeps, without looking, until it is given one.
///
/// Waking a thread costs microseconds. When given tasks repeatedly do not last that long, they are
/// too short to be shared: the team is throttled, members are left to themselves, and one parked
/// thread looks now and then (50 µs, later 2 ms) whether tasks have become longer. It measures CPU
/// time: a member that waits for a CPU, on a machine with other work, seems to spend milliseconds
/// on one task; and tasks that it gave away would wait for a CPU as well.
class Team final : public Executor {
 public:
  /// `threads` may be null for a team of one. Throws std::system_error if a thread cannot be
  /// started.
  Team(std::size_t n_threads, std::unique_ptr<ThreadSource> threads);
  ~Team() override;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::size_t n_threads() const noexcept override { return members_.size(); }
  void run(Task& first) override;
  void expect_outside() override;
  void submit(Task& task) override;
  void expect_no_more() override;
  void for_each(std::size_t n, const std::function<void(std::size_t)>& body) override;

 private:
  friend class ReadyTasks;
  using Clock = std::chrono::steady_clock;

  /// State of one thread. Members without another comment are guarded by `mutex_`.
  struct alignas(cache_line_pair) Member {
    explicit Member(Team& team, std::uint32_t number) : ready{team, number} {}
    ReadyTasks ready;
    Bell bell{};    ///< rung when there may be work
    Task* given{};  ///< for a parked member
    bool is_parked{};
    Member* giver{};              ///< of the task it got last
    Clock::time_point made_at{};  ///< time at which that was given

    // Its own.
    Clock::time_point given_at{};  ///< time at which it began work from others; zero: its own work
    std::uint64_t n_executed_at_gift{};
    long n_switches_at_gift{};

    std::atomic<bool> has_given{};         ///< since it ran out of work
    std::atomic<Clock::rep> ran_out_at{};  ///< time of the first since its last gift
    pid_t thread{};                        ///< its thread id
    clockid_t cpu_clock{};                 ///< of this thread
    std::uint64_t n_executed_seen{};       ///< seen by the watcher
    std::int64_t cpu_ns_seen{};            ///< seen by the watcher
  };

  enum Signal : std::uint32_t { work_wanted = 1, work_injected = 2 };
  [[nodiscard]] bool has_signal(Signal signal) const {
    // Relaxed: a hint, on which nothing is read without the mutex.
    return (signals_.load(std::memory_order_relaxed) & signal) != 0;
  }

  void begin_worker();
  void begin_here(Member& me);
  void end_threads();
  void work(Member& me);
  void step(Member& me, Task& task);
  void share(Member& me);
  [[nodiscard]] bool give(Member& me, Task& task);
  void advertise(Member& me);
  Task* find(Member& me);
  Task* take_injected(Task::Rank limit);
  Task* steal(Member& me, Task::Rank limit);
  [[nodiscard]] bool is_advertised() const;

  Task* park(Member& me);
  bool lie_down(Member& me);
  void wait_for_bell(Member& me);
  bool keeps_waiting(Member& me, bool& is_watcher);
  bool get_up(Member& me);
  void end_run_if_idle();
  void wake(Member& member);
  void update_signals();

  void begin_gift(Member& me);
  [[nodiscard]] static Clock::time_point end_of_gift(const Member& me, Clock::time_point now);
  void settle(Member& me);
  void watch(Clock::duration elapsed);
  [[nodiscard]] static bool has_long_tasks(Member& member, Clock::duration elapsed);
  void end_throttling();

  void work_until(Member& me, ReadyTasks::Wakeup& wakeup, Task::Rank limit);
  void wait_blocked(Member& me, ReadyTasks::Wakeup& wakeup, Task::Rank limit);
  void for_each_here(Member& me, std::size_t n, const std::function<void(std::size_t)>& body);

  std::vector<std::unique_ptr<Member>> members_;  ///< the first: the thread that calls `run`
  std::unique_ptr<ThreadSource> threads_;
  std::atomic<std::uint32_t> n_started_{1};

  alignas(cache_line_pair) std::atomic<std::uint32_t> signals_{};
  alignas(
      cache_line_pair) std::vector<std::atomic<std::uint64_t>> advertised_;  ///< one bit per member
  std::atomic<int> n_unpaid_{};  ///< gifts in succession that did not last
  std::atomic<bool> is_throttled_{};
  static constexpr Clock::duration shortest_watch = std::chrono::microseconds{50};
  std::atomic<Clock::duration> watch_interval_{shortest_watch};

  std::mutex mutex_;  ///< for all members below
  std::vector<Member*> parked_;
  std::vector<Member*> blocked_;
  std::deque<Task*> injected_;
  std::size_t n_active_{};   ///< members that are neither parked nor gone
  std::size_t n_outside_{};  ///< expected tasks
  bool is_running_{};
  bool is_stopping_{};
  bool has_watcher_{};
};

/// Ends a wait of a team's thread when executed.
class ReadyTasks::Wakeup final : public WaitingTask {
 public:
  explicit Wakeup(ReadyTasks& waiting) : waiting_{waiting} { set_rank(at_once); }
  void execute(ReadyTasks& ready) noexcept override;
  [[nodiscard]] bool is_done() const { return is_done_.load(std::memory_order_acquire); }

 private:
  ReadyTasks& waiting_;
  std::atomic<bool> is_done_{};
};

}  // namespace forkrun
