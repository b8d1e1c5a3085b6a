#include <forkrun/concurrency/executor.hpp>

#ifdef FORKRUN_HAS_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cerrno>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#else
#include <thread>
#include <vector>
#endif

#include <forkrun/concurrency/team.hpp>

namespace forkrun {

namespace {

#ifdef FORKRUN_HAS_TBB

/// Allows oneTBB as many workers as the teams of the process have together. Of several limits
/// oneTBB takes the lowest: with one limit for each team, a team of one would leave all others
/// without workers.
class HeldWorkers {
 public:
  explicit HeldWorkers(std::size_t n) : n_{n} { change_by(n_); }
  HeldWorkers(const HeldWorkers&) = delete;
  HeldWorkers& operator=(const HeldWorkers&) = delete;
  ~HeldWorkers() { change_by(0 - n_); }

 private:
  static void change_by(std::size_t n) {  // Wraps around for a decrease.
    static std::mutex mutex;
    static std::size_t n_held = 0;
    static std::optional<tbb::global_control> limit;
    const std::scoped_lock lock{mutex};
    n_held += n;
    limit.reset();
    if (n_held != 0) {
      limit.emplace(tbb::global_control::max_allowed_parallelism, n_held + 1);
    }
  }

  std::size_t n_;
};

/// Workers of a oneTBB arena. They stay with their team for its lifetime: a worker that returns to
/// oneTBB at every pause of some microseconds spends a millisecond looking for work.
class Threads final : public ThreadSource {
 public:
  explicit Threads(std::size_t n_threads)
      : held_{n_threads - 1}, arena_{static_cast<int>(n_threads)} {}
  ~Threads() noexcept override = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void start(std::size_t n, const std::function<void()>& body) override {
    try {
      arena_.execute([&] {
        for (std::size_t i = 0; i < n; ++i) {
          group_.run(body);
        }
      });
    } catch (const std::runtime_error&) {  // oneTBB's error when pthread_create fails.
      throw std::system_error{EAGAIN, std::generic_category()};
    }
  }
  void join() override {
    arena_.execute([this] { group_.wait(); });
  }

 private:
  HeldWorkers held_;
  tbb::task_arena arena_;
  tbb::task_group group_;
};

#else

/// Threads of the standard library.
class Threads final : public ThreadSource {
 public:
  explicit Threads(std::size_t /*n_threads*/) {}

  void start(std::size_t n, const std::function<void()>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      threads_.emplace_back(body);
    }
  }
  void join() override { threads_.clear(); }

 private:
  std::vector<std::jthread> threads_;
};

#endif

}  // namespace

std::unique_ptr<Executor> make_serial_executor() { return std::make_unique<Team>(1, nullptr); }

std::unique_ptr<Executor> make_executor(std::size_t n_threads) {
  return std::make_unique<Team>(n_threads, std::make_unique<Threads>(n_threads));
}

}  // namespace forkrun
