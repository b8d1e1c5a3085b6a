#include <forkrun/replay/timer.hpp>

#include <sys/prctl.h>

#include <utility>

namespace forkrun::replay {

void be_punctual() {
  thread_local const bool is_set = ::prctl(PR_SET_TIMERSLACK, 1UL) == 0;
  (void)is_set;
}

Timer::Timer() : thread_{[this](const std::stop_token& stop) { run(stop); }} {}

Timer::~Timer() = default;

void Timer::answer_after(std::chrono::duration<double> time, ExternalWork work) {
  const auto when = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  const std::scoped_lock lock{mutex_};
  const bool is_earliest = pending_.empty() || when < pending_.top().when;
  pending_.push({when, std::move(work)});
  if (is_earliest) {
    changed_.notify_one();
  }
}

void Timer::run(const std::stop_token& stop) {
  be_punctual();
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    if (pending_.empty()) {
      changed_.wait(lock, stop, [this] { return !pending_.empty(); });
      continue;
    }
    const auto when = pending_.top().when;
    if (Clock::now() < when) {
      changed_.wait_until(lock, stop, when, [this, when] { return pending_.top().when < when; });
      continue;
    }
    auto work = std::move(pending_.top().work);
    pending_.pop();
    lock.unlock();
    work.done();
    lock.lock();
  }
}

}  // namespace forkrun::replay
