#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun::testing {
namespace {

/// What all objects of a module note together.
struct Log {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<const void*> called;
  std::size_t n_awaited{1};  ///< a call ends when so many objects have been called
  int n_begin_lumi{};
  int n_begin_job{};
};

class Cloned final : public Producer, public Transitions {
 public:
  explicit Cloned(Log& log) : log_{log} {}
  [[nodiscard]] std::unique_ptr<Module> clone() const override {
    return std::make_unique<Cloned>(log_);
  }
  void produce(const EventBlock&) override {
    std::unique_lock lock{log_.mutex};
    log_.called.insert(this);
    log_.changed.notify_all();
    log_.changed.wait_for(lock, std::chrono::minutes{1},
                          [this] { return log_.called.size() >= log_.n_awaited; });
  }
  void begin_job() override { ++log_.n_begin_job; }
  void begin_lumi(LumiId) override { ++log_.n_begin_lumi; }

 private:
  Log& log_;
};

class ConcurrencyTest : public ProcessorTest {
 protected:
  /// Needed by an analyzer, so that it is called.
  void add_cloned(Log& log, ConcurrencyOverride instead = {}) {
    builder.add_module({"cloned", {}, instead}, [&](Construction& construction) {
      construction.produces<int>("made");
      construction.set_instances(Instances::per_block);
      return std::make_unique<Cloned>(log);
    });
    builder.add_module({"reader", {}}, [&](Construction& construction) {
      construction.consumes<int>("made");
      construction.set_concurrency(Concurrency::reentrant);
      return std::make_unique<FunctionAnalyzer>([](const EventBlock&, Mask) {});
    });
  }
  [[nodiscard]] std::size_t n_lanes() const {
    return GetParam().executor == ExecutorKind::serial ? 1 : GetParam().concurrent_blocks;
  }
};

TEST_P(ConcurrencyTest, a_module_has_one_object_per_block_and_all_get_the_messages) {
  Log log;
  log.n_awaited = GetParam().threads >= 3 && n_lanes() >= 3 ? 2 : 1;
  add_cloned(log);
  processor();
  schedule->begin_job();
  processor().process(unit_of(0, 400), {});
  EXPECT_EQ(log.n_begin_job, static_cast<int>(n_lanes()));
  EXPECT_EQ(log.n_begin_lumi, static_cast<int>(n_lanes()));
  EXPECT_LE(log.called.size(), n_lanes());
  EXPECT_GE(log.called.size(), log.n_awaited);
}

TEST_P(ConcurrencyTest, a_configuration_can_have_one_object_and_fewer_blocks_at_a_time) {
  Log log;
  add_cloned(log, {Concurrency::one, 1, Instances::shared, {"library"}});
  processor().process(unit_of(0, 200), {});
  EXPECT_EQ(log.called.size(), 1U);
  EXPECT_EQ(log.n_begin_lumi, 1);
}

INSTANTIATE_TEST_SUITE_P(Executors, ConcurrencyTest, all_executors, name_of);

/// Each line of the board that is written is taken away from all other lanes.
TEST(LaneStatusTest, lanes_that_share_a_slot_tell_of_small_blocks_once_in_a_tick_of_the_clock) {
  constexpr std::int64_t n_events = 20'000;
  constexpr std::size_t n_lanes = 2;
  StatusSlot status;
  std::set<std::uint64_t> told;
  std::set<std::int64_t> ticks;
  ScheduleBuilder builder{MemorySource::description()};
  builder.add_module({"reader", {}}, [&](Construction&) {
    return std::make_unique<FunctionAnalyzer>([&](const EventBlock&, Mask) {
      told.insert(status.n_events_done);
      ticks.insert(coarse_now_ns());
    });
  });
  const auto schedule = builder.compile();
  MemorySource source;
  Processor processor{*schedule, source, {ExecutorKind::tbb, 2, n_lanes, 1}, &status};
  processor.process(unit_of(0, n_events), {});
  EXPECT_EQ(status.n_events_done, static_cast<std::uint64_t>(n_events));
  EXPECT_LE(told.size(), n_lanes * (ticks.size() + 1));
}

/// The only problem of a job with one module.
std::string problem_of(const std::function<std::unique_ptr<Module>(Construction&)>& make) {
  ScheduleBuilder builder{{}};
  builder.add_module({"m", {}}, make);
  try {
    (void)builder.compile();
  } catch (const ScheduleError& error) {
    EXPECT_EQ(error.problems().size(), 1U);
    return error.problems().front();
  }
  return "none";
}

TEST(ConcurrencyProblemTest, an_object_per_block_needs_a_clone) {
  EXPECT_EQ(problem_of([](Construction& construction) {
              construction.set_instances(Instances::per_block);
              return std::make_unique<FunctionProducer>([](const EventBlock&) {});
            }),
            "module \"m\" cannot have one object per block: it has no clone()");
}

TEST(ConcurrencyProblemTest, no_block_at_a_time_is_refused) {
  EXPECT_EQ(problem_of([](Construction& construction) {
              construction.set_limit(0);
              return std::make_unique<FunctionProducer>([](const EventBlock&) {});
            }),
            "module \"m\": the limit must be at least one block at a time");
}

TEST(ConcurrencyProblemTest, a_cycle_of_products_that_are_asked_for_is_found) {
  ScheduleBuilder builder{{}};
  for (const auto& [label, from, to] : {std::tuple{"m", "a", "b"}, std::tuple{"n", "b", "a"}}) {
    builder.add_module({label, {}}, [&](Construction& construction) {
      construction.may_consume<int>(from);
      construction.produces<int>(to);
      return std::make_unique<FunctionProducer>([](const EventBlock&) {});
    });
  }
  EXPECT_THROW((void)builder.compile(), ScheduleError);
}

}  // namespace
}  // namespace forkrun::testing
