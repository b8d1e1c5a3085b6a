// What scheduling costs: one filter that asks for three products of three producers, none of which
// does any work. Prints events per second, and the ratio to a loop that makes the same virtual
// calls by hand.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  void cut(const UnitOfWork& unit, std::size_t block_size,
           std::vector<EntryRange>& blocks) const override {
    const auto size = static_cast<std::int64_t>(block_size);
    for (auto first = unit.ranges[0].first; first < unit.ranges[0].last; first += size) {
      blocks.push_back({0, first, first + size});
    }
  }
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override {
    return std::make_unique<CountingLane>();
  }

 private:
  class CountingLane final : public SourceLane {
   public:
    std::span<const std::uint64_t> load(const EntryRange& block, LumiId) override {
      events_.resize(static_cast<std::size_t>(block.last - block.first));
      for (std::size_t i = 0; i < events_.size(); ++i) {
        events_[i] = static_cast<std::uint64_t>(block.first) + i;
      }
      return events_;
    }
    void read(std::size_t, Column&) override {}

   private:
    std::vector<std::uint64_t> events_;
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

/// Seconds of the quickest of many short runs: what others do on the machine hardly matters.
double time_s(const Run& run) {
  double best_s = 1e9;
  for (int i = 0; i < 40; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, taken.count());
  }
  return best_s;
}

/// The same virtual calls, the digest included, with nothing in between.
double time_by_hand_s(std::int64_t n_events, std::size_t block_size) {
  EmptyJob job;
  const auto schedule = job.builder.compile();
  CountingSource source;
  const auto lane = source.make_lane();
  std::vector<int> values(3);
  std::vector<void*> products{&values[0], &values[1], &values[2]};
  const EventBlock block{products, lane.get()};
  std::vector<std::uint8_t> accept(block_size, 1);
  EventDigest digest;
  std::vector<EntryRange> blocks;
  return time_s([&] {
    std::size_t n_accepted = 0;
    blocks.clear();
    source.cut({0, {1, 1}, {{0, 0, n_events}}}, block_size, blocks);
    for (const auto& range : blocks) {
      digest.add({1, 1}, lane->load(range, {1, 1}));
      for (auto* producer : job.producers) {
        producer->produce(block);
      }
      std::ranges::fill(accept, std::uint8_t{1});
      job.filter->filter(block, accept);
      for (const auto accepted : accept) {
        n_accepted += accepted;
      }
    }
    if (n_accepted != static_cast<std::size_t>(n_events)) {
      std::abort();
    }
  });
}

double time_processor_s(ProcessorConfig config, std::int64_t n_events) {
  EmptyJob job;
  const auto schedule = job.builder.compile();
  CountingSource source;
  StatusSlot status;
  Processor processor{*schedule, source, config, &status};
  return time_s([&] { processor.process({0, {1, 1}, {{0, 0, n_events}}}, {}); });
}

struct Row {
  std::size_t block_size;
  std::string name;
  double events_per_s;
};

std::vector<Row> measure(std::int64_t n_events, std::size_t block_size) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, double time_s) {
    rows.push_back({block_size, name, static_cast<double>(n_events) / time_s});
  };
  const auto run = [&](const std::string& name, ExecutorKind kind, std::size_t threads,
                       std::size_t blocks) {
    add(name, time_processor_s({kind, threads, blocks, block_size}, n_events));
  };
  add("loop", time_by_hand_s(n_events, block_size));
  run("serial", ExecutorKind::serial, 1, 1);
  run("tbb 1 thread 1 block", ExecutorKind::tbb, 1, 1);
  run("tbb 2 threads 1 block", ExecutorKind::tbb, 2, 1);
  run("tbb 2 threads 2 blocks", ExecutorKind::tbb, 2, 2);
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  double loop = 1;
  for (const auto& [block_size, name, events_per_s] : rows) {
    loop = name == "loop" ? events_per_s : loop;
    std::printf("block size %3zu  %-24s %8.2f M events/s  %6.1f ns/event  %5.2f of the loop\n",
                block_size, name.c_str(), 1e-6 * events_per_s, 1e9 / events_per_s,
                events_per_s / loop);
  }
}

void print_json(const std::vector<Row>& rows) {
  std::printf("[");
  const char* separator = "";
  for (const auto& [block_size, name, events_per_s] : rows) {
    std::printf(R"(%s{"block_size": %zu, "name": "%s", "events_per_s": %.6g})", separator,
                block_size, name.c_str(), events_per_s);
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
