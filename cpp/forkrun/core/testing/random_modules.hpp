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

/// Counts those that are inside at the same time, where not more than `n_most` may be.
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

/// Transitions of one module, and whether its blocks came in between.
class Chronicle {
 public:
  void begin_iov(std::uint32_t iov) { begin(iov_, std::uint64_t{iov}, "iov"); }
  void end_iov(std::uint32_t iov) { end(iov_, std::uint64_t{iov}, "iov"); }
  void begin_run(std::uint32_t run) { begin(run_, std::uint64_t{run}, "run"); }
  void end_run(std::uint32_t run) { end(run_, std::uint64_t{run}, "run"); }
  void begin_lumi(LumiId lumi) { begin(lumi_, number_of(lumi), "lumi"); }
  void end_lumi(LumiId lumi) { end(lumi_, number_of(lumi), "lumi"); }
  void note(const EventBlock& block) {
    const bool is_right =
        iov_ == block.iov() && run_ == block.lumi().run && lumi_ == number_of(block.lumi());
    n_misplaced_ += is_right ? 0 : 1;
  }
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }
  [[nodiscard]] int n_misplaced() const { return n_misplaced_; }

 private:
  using Number = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  [[nodiscard]] static std::uint64_t number_of(LumiId lumi) {
    return (std::uint64_t{lumi.run} << 32U) + lumi.lumi;
  }
  void begin(Number& open, std::uint64_t number, const std::string& what) {
    n_misplaced_ += open.exchange(number) == nothing ? 0 : 1;
    messages_.push_back("begin " + what + " " + std::to_string(number));
  }
  void end(Number& open, std::uint64_t number, const std::string& what) {
    n_misplaced_ += open.exchange(nothing) == number ? 0 : 1;
    messages_.push_back("end " + what + " " + std::to_string(number));
  }

  Number iov_{nothing}, run_{nothing}, lumi_{nothing};
  std::atomic<int> n_misplaced_{};
  std::vector<std::string> messages_;
};

/// State shared by all modules of an observed job.
struct Witness {
  std::optional<Fault> fault;
  Entrance unsafe;
  std::map<std::string, std::atomic<int>> n_calls;
  std::map<std::string, Entrance> entrances;
  std::map<std::string, Entrance> libraries;
  std::map<std::string, std::vector<std::uint64_t>> seen;
  std::map<std::string, MemoryOutput::Record> records;
  std::mutex seen_mutex;
  std::map<std::string, Chronicle> chronicles;
  std::atomic<int> n_misplaced;  ///< blocks that were written to the outputs of another unit
  Outside outside;
};

/// Stands for the path of an output of a unit of this lumi.
inline std::string name_of(LumiId lumi) {
  return std::to_string(lumi.run) + ":" + std::to_string(lumi.lumi);
}

/// The same of a unit of several.
inline const std::string several_lumis = "several lumis";

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
