// What many small lumis cost: units of one to three blocks on four threads, whose modules sleep.
// Prints, by number of units in flight, how much of the threads' time was spent in modules
// and commits.

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <forkrun/core/run/processor.hpp>
#include <forkrun/core/testing/function_modules.hpp>
#include <forkrun/core/testing/memory_source.hpp>

namespace {

using namespace forkrun;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t n_threads = 4;
constexpr std::int64_t n_units = 120;
constexpr Milliseconds commit_time{1.0};
constexpr Milliseconds write_time{0.2};

/// A unit's number of blocks of one event: 1, 2, 3, 1, …
std::int64_t n_blocks_of(std::int64_t unit) { return 1 + unit % 3; }

/// A block takes 1 to 8 ms in the producer, and as long in the filter.
Milliseconds time_of(std::uint64_t event) {
  return Milliseconds{static_cast<double>(1 + event * 5 % 8)};
}

void spend_time(const EventBlock& block) {
  std::this_thread::sleep_for(time_of(block.events()[0]));
}

std::unique_ptr<Schedule> make_schedule(testing::MemoryOutput::Record& record) {
  ScheduleBuilder builder{testing::MemorySource::description()};
  builder.add_module({"producer", {}}, [](Construction& construction) {
    construction.produces<int>("made");
    return std::make_unique<testing::FunctionProducer>(spend_time);
  });
  builder.add_module({"filter", {}}, [](Construction& construction) {
    construction.consumes<int>("made");
    return std::make_unique<testing::FunctionFilter>(
        [](const EventBlock& block, std::span<std::uint8_t>) { spend_time(block); });
  });
  builder.add_path({"path", {"filter"}});
  builder.add_output({"output", {"path"}, {}}, [&record](Construction&) {
    return std::make_unique<testing::MemoryOutput>(
        record, std::vector<ScalarInput<std::int64_t>>{},
        [](const EventBlock&, Mask, Parallel&) { std::this_thread::sleep_for(write_time); });
  });
  return builder.compile();
}

/// What modules and commits sleep in all.
Milliseconds time_of_all() {
  Milliseconds sum = commit_time * n_units;
  std::int64_t entry = 0;
  for (std::int64_t unit = 0; unit < n_units; ++unit) {
    for (auto n = n_blocks_of(unit); n > 0; --n, ++entry) {
      sum += 2 * time_of(testing::event_at(entry)) + write_time;
    }
  }
  return sum;
}

double utilization(std::size_t concurrent_units, std::size_t concurrent_blocks) {
  testing::MemoryOutput::Record record;
  const auto schedule = make_schedule(record);
  testing::MemorySource source;
  ProcessorConfig config{ExecutorKind::tbb, n_threads, concurrent_blocks, 1};
  config.concurrent_units = concurrent_units;
  Processor processor{*schedule, source, config, nullptr};
  std::int64_t unit = 0;
  std::int64_t first = 0;
  const NextUnit next = [&]() -> std::optional<UnitToDo> {
    if (unit == n_units) {
      return std::nullopt;
    }
    const auto last = first + n_blocks_of(unit);
    const auto lumi = static_cast<std::uint32_t>(++unit);
    return UnitToDo{{lumi, {1, lumi}, {{0, std::exchange(first, last), last}}}, {{"output", ""}}};
  };
  const CommitUnit commit = [](const UnitOfWork&, const UnitResult&) {
    std::this_thread::sleep_for(commit_time);
  };
  const auto start = std::chrono::steady_clock::now();
  processor.run(next, commit);
  const Milliseconds taken = std::chrono::steady_clock::now() - start;
  return time_of_all() / (taken * n_threads);
}

}  // namespace

int main() {
  std::printf("[");
  const char* separator = "";
  for (const std::size_t blocks : {n_threads, 2 * n_threads}) {
    for (const std::size_t units : {1, 2, 4, 8}) {
      std::printf(R"(%s{"concurrent_lumis": %zu, "concurrent_blocks": %zu, "utilization": %.4f})",
                  separator, units, blocks, utilization(units, blocks));
      separator = ",\n";
    }
  }
  std::printf("]\n");
}
