#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <forkrun/core/testing/random_job.hpp>

namespace forkrun::testing {

/// Counts those who are inside at the same time, where not more than `n_most` may be.
class Entrance {
 public:
  explicit Entrance(int n_most = 1) : n_most_{n_most} {}
  int overlaps() const { return n_overlaps_; }
  void enter() { n_overlaps_ += n_inside_.fetch_add(1) >= n_most_ ? 1 : 0; }
  void leave() { --n_inside_; }

 private:
  int n_most_;
  std::atomic<int> n_inside_{};
  std::atomic<int> n_overlaps_{};
};

/// Answers what it was given, the last first, on a thread of its own.
class Outside {
 public:
  void give(ExternalWork work, std::exception_ptr failure) {
    const std::scoped_lock lock{mutex_};
    given_.emplace_back(std::move(work), std::move(failure));
    changed_.notify_one();
  }

 private:
  void answer(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (changed_.wait(lock, stop, [this] { return !given_.empty(); })) {
      auto [work, failure] = std::move(given_.back());
      given_.pop_back();
      lock.unlock();
      if (failure) {
        work.failed(failure);
      } else {
        work.done();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::pair<ExternalWork, std::exception_ptr>> given_;
  std::jthread thread_{[this](const std::stop_token& stop) { answer(stop); }};
};

/// What all modules of a job share while it is observed.
struct Witness {
  std::optional<Fault> fault;
  Entrance unsafe;
  std::map<std::string, std::atomic<int>> n_calls;
  std::map<std::string, Entrance> entrances;
  std::map<std::string, Entrance> libraries;
  std::map<std::string, std::vector<std::uint64_t>> seen;
  std::map<std::string, MemoryOutput::Record> records;
  std::mutex seen_mutex;
  Outside outside;
};

/// The modules of a random job, by what part they have in it.
std::unique_ptr<Module> make_producer(Witness& witness, const RandomJob::Part& part,
                                      Construction& construction);
std::unique_ptr<Module> make_filter(Witness& witness, const RandomJob::Part& part,
                                    Construction& construction);
std::unique_ptr<Module> make_analyzer(Witness& witness, const RandomJob::Part& part,
                                      Construction& construction);
std::unique_ptr<OutputModule> make_output(Witness& witness, const RandomJob::Part& part,
                                          Construction& construction);

}  // namespace forkrun::testing
