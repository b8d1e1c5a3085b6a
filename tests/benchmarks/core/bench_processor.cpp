// What scheduling costs: one filter that asks for three products of three producers, none of which
// does any work. Prints events per second, and the ratio to a loop that makes the same virtual
// calls by hand; CPU time of all threads as well, which other work on the machine hardly changes.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/concurrency/cpu_clock.hpp>
#include <forkrun/core/run/processor.hpp>

namespace {

using namespace forkrun;

class EmptyProducer final : public Producer {
 public:
  explicit EmptyProducer(Output<int> output) : output_{output} {}
  void produce(const EventBlock& block) override { block.make(output_) = 1; }

 private:
  Output<int> output_;
};

class EmptyFilter final : public Filter {
 public:
  explicit EmptyFilter(std::vector<Input<int>> inputs) : inputs_{std::move(inputs)} {}
  void filter(const EventBlock& block, std::span<std::uint8_t> accept) override {
    int sum = 0;
    for (const auto input : inputs_) {
      sum += block.get(input);
    }
    accept[0] = sum == 3 ? 1 : 0;
  }

 private:
  std::vector<Input<int>> inputs_;
};

class CountingSource final : public Source {
 public:
  [[nodiscard]] std::span<const ColumnDescription> columns() const override { return {}; }
  void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const override {
    const auto size = static_cast<std::int64_t>(block_size);
    for (auto first = unit.ranges[0].first; first < unit.ranges[0].last; first += size) {
      blocks.begin({0, first, first + size});
    }
  }
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override {
    return std::make_unique<CountingLane>();
  }

 private:
  class CountingLane final : public SourceLane {
   public:
    std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis&) override {
      const auto& [file, first, last] = block.front();
      events_.resize(static_cast<std::size_t>(last - first));
      for (std::size_t i = 0; i < events_.size(); ++i) {
        events_[i] = static_cast<std::uint64_t>(first) + i;
      }
      return events_;
    }
    void read(std::size_t, Column&) override {}

   private:
    CacheLineVector<std::uint64_t> events_;
  };
};

/// The modules by number of their product, as the job and the loop by hand use them.
struct EmptyJob {
  ScheduleBuilder builder{{}};
  std::vector<Producer*> producers{};
  Filter* filter{};

  EmptyJob() {
    for (const auto* name : {"a", "b", "c"}) {
      builder.add_module({name, {}}, [&](Construction& construction) {
        auto module = std::make_unique<EmptyProducer>(construction.produces<int>(name));
        producers.push_back(module.get());
        return module;
      });
    }
    builder.add_module({"filter", {}}, [&](Construction& construction) {
      std::vector<Input<int>> inputs;
      for (const auto* name : {"a", "b", "c"}) {
        inputs.push_back(construction.consumes<int>(name));
      }
      auto module = std::make_unique<EmptyFilter>(std::move(inputs));
      filter = module.get();
      return module;
    });
    builder.add_path({"path", {"filter"}});
  }
};

using Run = std::function<void()>;

/// One way to process the events, and its quickest run.
struct Way {
  std::string name;
  Run run;
  double wall_s = std::numeric_limits<double>::max();
  double cpu_s = std::numeric_limits<double>::max();

  void time_once() {
    const auto start = std::chrono::steady_clock::now();
    const auto cpu_start_ns = process_cpu_ns();
    run();
    const auto cpu_ns = process_cpu_ns() - cpu_start_ns;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    wall_s = std::min(wall_s, taken.count());
    cpu_s = std::min(cpu_s, 1e-9 * static_cast<double>(cpu_ns));
  }
};

/// The same virtual calls, the digest included, with nothing in between.
class LoopByHand {
 public:
  LoopByHand(std::int64_t n_events, std::size_t block_size)
      : n_events_{n_events}, block_size_{block_size}, accept_(block_size, 1) {}

  void run() {
    std::size_t n_accepted = 0;
    blocks_.clear();
    source_.cut({0, {1, 1}, {{0, 0, n_events_}}}, block_size_, blocks_);
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      digest_.add({1, 1}, lane_->load(blocks_[block], LumiId{1, 1}));
      for (auto* producer : job_.producers) {
        producer->produce(block_);
      }
      std::ranges::fill(accept_, std::uint8_t{1});
      job_.filter->filter(block_, accept_);
      for (const auto accepted : accept_) {
        n_accepted += accepted;
      }
    }
    if (n_accepted != static_cast<std::size_t>(n_events_)) {
      std::abort();
    }
  }

 private:
  std::int64_t n_events_;
  std::size_t block_size_;
  EmptyJob job_;
  std::unique_ptr<Schedule> schedule_ = job_.builder.compile();
  CountingSource source_;
  std::unique_ptr<SourceLane> lane_ = source_.make_lane();
  std::vector<int> values_ = std::vector<int>(3);
  std::vector<void*> products_{&values_[0], &values_[1], &values_[2]};
  EventBlock block_{products_, lane_.get()};
  std::vector<std::uint8_t> accept_;
  EventDigest digest_;
  BlockList blocks_;
};

class ByProcessor {
 public:
  ByProcessor(const ProcessorConfig& config, std::int64_t n_events)
      : n_events_{n_events}, processor_{*schedule_, source_, config, &status_} {}
  void run() { processor_.process({0, {1, 1}, {{0, 0, n_events_}}}, {}); }

 private:
  std::int64_t n_events_;
  EmptyJob job_;
  std::unique_ptr<Schedule> schedule_ = job_.builder.compile();
  CountingSource source_;
  StatusSlot status_;
  Processor processor_;
};

struct Row {
  std::size_t block_size;
  std::string name;
  double events_per_s;
  double cpu_ns_per_event;
};

std::vector<Way> all_ways(std::int64_t n_events, std::size_t block_size) {
  std::vector<Way> ways;
  const auto by_hand = std::make_shared<LoopByHand>(n_events, block_size);
  ways.push_back({"loop", [by_hand] { by_hand->run(); }});
  const auto add = [&](const std::string& name, ExecutorKind kind, std::size_t threads,
                       std::size_t blocks) {
    const ProcessorConfig config{kind, threads, blocks, block_size};
    const auto way = std::make_shared<ByProcessor>(config, n_events);
    ways.push_back({name, [way] { way->run(); }});
  };
  add("serial", ExecutorKind::serial, 1, 1);
  add("tbb 1 thread 1 block", ExecutorKind::tbb, 1, 1);
  add("tbb 2 threads 1 block", ExecutorKind::tbb, 2, 1);
  add("tbb 2 threads 2 blocks", ExecutorKind::tbb, 2, 2);
  return ways;
}

/// The quickest of many short runs of each way, one way after the other and again: what others do
/// on the machine hardly matters.
std::vector<Row> measure(std::int64_t n_events, std::size_t block_size) {
  auto ways = all_ways(n_events, block_size);
  for (int round = 0; round < 60; ++round) {
    std::ranges::for_each(ways, &Way::time_once);
  }
  std::vector<Row> rows;
  const auto n = static_cast<double>(n_events);
  for (const auto& way : ways) {
    rows.push_back({block_size, way.name, n / way.wall_s, 1e9 * way.cpu_s / n});
  }
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  double loop = 1;
  for (const auto& [block_size, name, events_per_s, cpu_ns] : rows) {
    loop = name == "loop" ? events_per_s : loop;
    std::printf(
        "block size %3zu  %-24s %8.2f M events/s  %6.1f ns/event  %5.2f of the loop  "
        "%6.1f ns of CPU/event\n",
        block_size, name.c_str(), 1e-6 * events_per_s, 1e9 / events_per_s, events_per_s / loop,
        cpu_ns);
  }
}

void print_json(const std::vector<Row>& rows) {
  std::printf("[");
  const char* separator = "";
  for (const auto& [block_size, name, events_per_s, cpu_ns] : rows) {
    std::printf(R"(%s{"block_size": %zu, "name": "%s", "events_per_s": %.6g, "cpu_ns": %.6g})",
                separator, block_size, name.c_str(), events_per_s, cpu_ns);
    separator = ",\n";
  }
  std::printf("]\n");
}

}  // namespace

int main(int n_arguments, char** arguments) {
  auto rows = measure(300'000, 1);
  const auto many = measure(6'000'000, 100);
  rows.insert(rows.end(), many.begin(), many.end());
  const bool wants_json = n_arguments > 1 && std::string{arguments[1]} == "--json";
  (wants_json ? print_json : print_table)(rows);
}
