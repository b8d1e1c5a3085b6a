#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/module/external_work.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/replay/replay.hpp>

namespace forkrun::replay {

/// Has the kernel wake the calling thread in time; by default it may be 50 µs late.
void be_punctual();

/// External work that takes time: one thread that answers each piece when its time has come.
class Timer {
 public:
  using Clock = std::chrono::steady_clock;

  Timer();
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void answer_after(std::chrono::duration<double> time, ExternalWork work);

 private:
  struct Pending {
    Clock::time_point when;
    mutable ExternalWork work;  ///< moved out of a queue whose top is const
    bool operator<(const Pending& other) const { return when > other.when; }
  };

  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::priority_queue<Pending> pending_;  ///< the earliest on top
  std::jthread thread_;
};

/// State shared by the modules of one job while it runs.
struct Stage {
  double steps_per_s{};
  std::unique_ptr<Timer> timer{};                      ///< made in the child: it has a thread
  std::vector<CacheLineVector<std::uint64_t>> sums{};  ///< by lane and filter
  std::size_t n_filters{};

  void begin(std::size_t n_lanes, double steps_per_second, bool needs_timer);
  [[nodiscard]] std::uint64_t checksum() const;
};

[[nodiscard]] std::unique_ptr<Module> make_module(Stage& stage,
                                                  const ModuleDescription& description,
                                                  Construction& construction);

}  // namespace forkrun::replay
