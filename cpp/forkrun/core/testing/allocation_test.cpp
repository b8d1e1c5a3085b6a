// Counts what is allocated while blocks are processed: nothing, once sizes have settled.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include <forkrun/core/run/processor.hpp>
#include <forkrun/core/testing/function_modules.hpp>
#include <forkrun/core/testing/memory_source.hpp>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<std::int64_t> n_allocations{};
}

void* operator new(std::size_t size) {
  ++n_allocations;
  if (void* memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc{};
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  ++n_allocations;
  const auto align = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) {
    return memory;
  }
  throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace forkrun {
namespace {

class NullOutput final : public OutputModule {
 public:
  void open(const UnitOfWork&, const std::string&) override {}
  void write(const EventBlock&, Mask, Parallel&) override {}
  OutputSummary close(Parallel&) override { return {}; }
  void abandon() noexcept override {}
};

/// A module that asks, in each of the two ways.
void add_asking(ScheduleBuilder& builder) {
  builder.add_module({"asks", {}}, [](Construction& construction) {
    const auto input = construction.may_consume_scalar<std::int64_t>("b");
    const auto output = construction.produces<std::int64_t>("asked");
    return std::make_unique<testing::FunctionProducer>([input, output](const EventBlock& block) {
      const ScalarView<std::int64_t> values = block.get(input);
      block.make(output) = values[0];
    });
  });
  builder.add_module({"awaits", {}}, [](Construction& construction) {
    const auto input = construction.may_consume<std::int64_t>("asked");
    return std::make_unique<testing::FunctionCoroutineFilter>(
        [input](const CoroutineBlock& block, std::span<std::uint8_t> accept) -> Coroutine {
          const std::int64_t& value = co_await block.get(input);
          accept[0] = value % 2 == 0 ? 1 : 0;
        });
  });
  builder.add_path({"asking", {"awaits"}});
}

/// Two filters on two paths, a chain of producers, a `one` producer, an analyzer and an output.
std::unique_ptr<Schedule> make_schedule() {
  ScheduleBuilder builder{testing::MemorySource::description()};
  const auto add_producer = [&](const std::string& from, const std::string& to) {
    builder.add_module({"make_" + to, {}}, [&](Construction& construction) {
      construction.set_concurrency(Concurrency::one);
      const auto input = construction.consumes_scalar<std::int64_t>(from);
      const auto output = construction.produces_scalar<std::int64_t>(to);
      return std::make_unique<testing::FunctionProducer>([input, output](const EventBlock& block) {
        block.make(output)[0] = block.get(input)[0];
      });
    });
  };
  const auto add_filter = [&](const std::string& label, const std::string& from) {
    builder.add_module({label, {}}, [&](Construction& construction) {
      construction.consumes_scalar<std::int64_t>(from);
      construction.consumes_jagged<std::int32_t>("v");
      return std::make_unique<testing::FunctionFilter>(
          [](const EventBlock& block, std::span<std::uint8_t> accept) {
            accept[0] = block.events()[0] % 2 == 0 ? 1 : 0;
          });
    });
  };
  add_producer("x", "a");
  add_producer("a", "b");
  add_filter("f", "a");
  add_filter("g", "b");
  builder.add_module({"analyzer", {}}, [](Construction& construction) {
    construction.consumes_scalar<std::int64_t>("b");
    return std::make_unique<testing::FunctionAnalyzer>([](const EventBlock&, Mask) {});
  });
  add_asking(builder);
  builder.add_path({"p", {"f", "g", "analyzer"}});
  builder.add_path({"q", {"g"}});
  builder.add_output({"out", {"p", "q"}, {"a"}},
                     [](Construction&) { return std::make_unique<NullOutput>(); });
  return builder.compile();
}

/// Allocations of a unit of `n_blocks`, after one that let sizes settle.
std::int64_t allocations_of(const ProcessorConfig& config, std::int64_t n_blocks) {
  const auto schedule = make_schedule();
  testing::MemorySource source;
  StatusSlot status;
  Processor processor{*schedule, source, config, &status};
  (void)processor.process(testing::unit_of(0, 200), {{"out", "o"}});
  const auto before = n_allocations.load();
  (void)processor.process(testing::unit_of(0, n_blocks), {{"out", "o"}});
  return n_allocations - before;
}

TEST(AllocationTest, serial_processing_allocates_per_unit_and_not_per_block) {
  const ProcessorConfig config{ExecutorKind::serial, 1, 1, 1};
  // Both vectors of the list of blocks grow three times more for eight times as many.
  EXPECT_EQ(allocations_of(config, 8000), allocations_of(config, 1000) + 2 * 3);
}

TEST(AllocationTest, tasks_are_not_allocated_per_block) {
  for (const bool always_tasks : {false, true}) {
    const ProcessorConfig config{ExecutorKind::tbb, 2, 3, 1, always_tasks};
    // What is left: the columns of lanes that had no block before, the vector of the blocks.
    EXPECT_LT(allocations_of(config, 20'000), 300);
  }
}

}  // namespace
}  // namespace forkrun

#endif
