#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/run/processor.hpp>

namespace forkrun::replay {

/// Ways for a module to spend its time.
enum class Work : std::uint8_t {
  none,
  busy_wait,   ///< computes for its time, by the thread's CPU clock
  fixed_work,  ///< computes as many steps as fitted into its time at the job's begin
  sleep,       ///< holds its thread
  async,       ///< gives its thread back: external work
};

/// Ways for a module to get its inputs.
enum class Get : std::uint8_t {
  prefetch,   ///< all inputs are made, in parallel, before the module runs
  blocking,   ///< it requests them one after another while it runs
  coroutine,  ///< the same without holding a thread
};

struct ModuleDescription {
  std::string label;
  bool is_filter{};
  Concurrency concurrency{};
  Work work{};
  Get get{};
  std::vector<double> event_times_s;  ///< event i takes element i modulo their number
  std::vector<std::string> consumes;  ///< products
  std::vector<std::string> produces;
};

struct Settings {
  ProcessorConfig processor;
  std::int64_t first_event{};
  std::int64_t n_events{};
  double steps_per_s{};  ///< of fixed work
};

struct Result {
  /// Sum over all events and filters of a number that depends on the event and on the filter's
  /// inputs; the same for every executor, number of threads, and size of blocks.
  std::uint64_t checksum{};
  double start_s{};  ///< CLOCK_MONOTONIC at the begin of the first event
  double end_s{};
  double cpu_s{};
};

/// A job of such modules. Compiled at once; can be run once in every process.
class Replay {
 public:
  /// \throws ScheduleError
  Replay(const std::vector<ModuleDescription>& modules, const std::vector<PathDescription>& paths);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Processes its events. `status` may be null.
  [[nodiscard]] Result run(const Settings& settings, StatusSlot* status);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forkrun::replay
