#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/run/processor.hpp>
#include <forkrun/core/testing/function_modules.hpp>
#include <forkrun/core/testing/memory_source.hpp>
#include <testing/has_dispatch.hpp>

namespace forkrun::testing {

using Events = std::vector<std::uint64_t>;

inline Events range(std::uint64_t first, std::uint64_t last, std::uint64_t step = 1) {
  Events events;
  for (auto event = first; event < last; event += step) {
    events.push_back(event);
  }
  return events;
}

/// A job that is described in a test and run with each executor.
class ProcessorTest : public ::testing::TestWithParam<ProcessorConfig> {
 protected:
  void producer(const std::string& label, const std::string& from, const std::string& to,
                std::atomic<int>& n_calls) {
    builder.add_module({label, {}}, [&, from, to](Construction& construction) {
      const auto input = construction.consumes_scalar<std::int64_t>(from);
      const auto output = construction.produces_scalar<std::int64_t>(to);
      return std::make_unique<FunctionProducer>([input, output, &n_calls](const EventBlock& block) {
        ++n_calls;
        const auto values = block.get(input);
        const auto made = block.make(output);
        for (std::size_t i = 0; i < values.size(); ++i) {
          made[i] = values[i] + 1;
        }
      });
    });
  }

  /// Keeps events that are multiples of `divisor`.
  void filter(const std::string& label, std::uint64_t divisor, std::atomic<int>& n_calls,
              const std::string& from = "y") {
    builder.add_module({label, {}}, [&, from](Construction& construction) {
      construction.consumes_scalar<std::int64_t>(from);
      return std::make_unique<FunctionFilter>(
          [divisor, &n_calls](const EventBlock& block, std::span<std::uint8_t> accept) {
            ++n_calls;
            for (std::size_t i = 0; i < accept.size(); ++i) {
              EXPECT_EQ(accept[i], 1);
              accept[i] = block.events()[i] % divisor == 0 ? 7 : 0;
            }
          });
    });
  }

  void analyzer(const std::string& label, Events& seen, const std::string& from = "y") {
    builder.add_module({label, {}}, [&, from](Construction& construction) {
      construction.consumes_scalar<std::int64_t>(from);
      return std::make_unique<FunctionAnalyzer>([&seen](const EventBlock& block, Mask selected) {
        for (std::size_t i = 0; i < selected.size(); ++i) {
          if (selected[i] != 0) {
            seen.push_back(block.events()[i]);
          }
        }
      });
    });
  }

  void output(const std::string& label, const std::vector<std::string>& paths,
              MemoryOutput::Record& record, const std::vector<std::string>& products = {},
              MemoryOutput::Function function = {}) {
    builder.add_output({label, paths, products}, [&](Construction& construction) {
      std::vector<ScalarInput<std::int64_t>> inputs;
      for (const auto& product : products) {
        inputs.push_back({construction.consume_any_column(product)});
      }
      return std::make_unique<MemoryOutput>(record, inputs, function);
    });
  }

  Processor& processor() {
    if (!processor_) {
      schedule = builder.compile();
      processor_ = std::make_unique<Processor>(*schedule, source, GetParam(), &status);
    }
    return *processor_;
  }

  /// Text of the error of class E that processing ends with.
  template <typename E>
  std::string error_of(const UnitOfWork& unit,
                       const std::map<std::string, std::string>& paths = {}) {
    try {
      processor().process(unit, paths);
    } catch (const E& error) {
      return error.what();
    }
    return "no error";
  }

  MemorySource source;
  StatusSlot status;
  ScheduleBuilder builder{MemorySource::description()};
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<Processor> processor_;
  std::atomic<int> n_first{}, n_second{}, n_third{};
};

/// Whether this build has the threads of an executor.
inline bool is_built_in(ExecutorKind kind) {
  return kind != ExecutorKind::dispatch || has_dispatch_executor();
}

inline std::string name_of(const ::testing::TestParamInfo<ProcessorConfig>& info) {
  static const std::vector<std::string> kinds{"serial", "tbb", "dispatch"};
  const auto& config = info.param;
  const auto& kind = kinds.at(static_cast<std::size_t>(config.executor));
  if (config.executor == ExecutorKind::serial) {
    return config.always_tasks ? kind + "_tasks" : kind;
  }
  return kind + (config.always_tasks ? "_tasks_" : "_") + std::to_string(config.threads) +
         "_threads_" + std::to_string(config.concurrent_blocks) + "_blocks";
}

/// Every executor that is built in, with fewer and more blocks than threads.
inline std::vector<ProcessorConfig> executor_configs() {
  using enum ExecutorKind;
  std::vector<ProcessorConfig> configs{
      {serial, 1, 1, 0},
      {tbb, 1, 1, 0},
      {tbb, 2, 1, 0},
      {tbb, 2, 3, 0},
      {tbb, 7, 8, 0},
      {tbb, 3, 4, 0, true},
      {tbb, 1, 3, 0},
      {tbb, 4, 3, 0},
      {dispatch, 1, 2, 0},
      {dispatch, 7, 8, 0},
      {dispatch, 3, 4, 0, true},
      {dispatch, 4, 2, 0},
      {serial, 1, 1, 0, true},
  };
  std::erase_if(configs, [](const auto& config) { return !is_built_in(config.executor); });
  return configs;
}
inline const auto all_executors = ::testing::ValuesIn(executor_configs());

}  // namespace forkrun::testing
