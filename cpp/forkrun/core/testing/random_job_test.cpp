#include <forkrun/core/testing/random_job.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun {
namespace {

using testing::Fault;
using testing::observe;
using testing::RandomJob;
using testing::unit_of;

/// How many jobs to draw; more are tried by setting FORKRUN_RANDOM_JOBS.
std::uint32_t n_jobs() {
  const char* wanted = std::getenv("FORKRUN_RANDOM_JOBS");
  return wanted == nullptr ? 60 : static_cast<std::uint32_t>(std::atoi(wanted));
}

/// Executors with threads. FORKRUN_TEST_EXECUTOR names the only one of them.
std::vector<ExecutorKind> threaded_kinds() {
  const char* const wanted = std::getenv("FORKRUN_TEST_EXECUTOR");
  const std::string only{wanted == nullptr ? "" : wanted};
  std::vector<ExecutorKind> kinds;
  for (const auto& [name, kind] :
       {std::pair{"tbb", ExecutorKind::tbb}, {"dispatch", ExecutorKind::dispatch}}) {
    if (testing::is_built_in(kind) && (only.empty() || only == name)) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

/// Every thread count with every number of concurrent blocks, over the seeds.
ProcessorConfig parallel_config(std::uint32_t seed, std::size_t block_size) {
  static constexpr std::size_t threads[] = {1, 2, 4, 7};
  static const auto kinds = threaded_kinds();
  return {kinds.at(seed % 3 % kinds.size()), threads[seed % 4], 1 + (seed / 4) % 8, block_size};
}

ProcessorConfig serial_config(std::size_t block_size) {
  return {ExecutorKind::serial, 1, 1, block_size};
}

/// Number of blocks of one size, so what depends on it is left out.
testing::Observation without_counts(testing::Observation observation) {
  observation.n_calls.clear();
  for (auto& unit : observation.units) {
    unit.sequences.clear();
  }
  return observation;
}

TEST(RandomJobTest, tasks_on_threads_do_what_serial_does) {
  for (std::uint32_t seed = 0; seed < n_jobs(); ++seed) {
    const auto job = RandomJob::draw(seed);
    for (const std::size_t block_size : {1, 3, 100}) {
      const auto expected = observe(job, serial_config(block_size), {unit_of(0, 250)});
      const auto found = observe(job, parallel_config(seed, block_size), {unit_of(0, 250)});
      EXPECT_EQ(found, expected) << "seed " << seed << ", block size " << block_size;
      EXPECT_EQ(found.n_overlaps, 0) << "seed " << seed;
      EXPECT_EQ(found.error, "");
    }
  }
}

TEST(RandomJobTest, block_size_changes_nothing) {
  for (std::uint32_t seed = 0; seed < n_jobs(); ++seed) {
    const auto job = RandomJob::draw(seed);
    const auto expected = without_counts(observe(job, serial_config(1), {unit_of(0, 250)}));
    for (const std::size_t block_size : {3, 100}) {
      const auto found = observe(job, serial_config(block_size), {unit_of(0, 250)});
      EXPECT_EQ(without_counts(found), expected) << "seed " << seed;
    }
  }
}

TEST(RandomJobTest, what_modules_say_of_events_that_filters_have_refused_changes_nothing) {
  for (std::uint32_t seed = 0; seed < 4 * n_jobs(); ++seed) {
    const auto job = RandomJob::draw(seed);
    auto other = job;
    for (auto* parts : {&other.producers, &other.filters}) {
      for (auto& part : *parts) {
        part.sees_left = false;
      }
    }
    EXPECT_EQ(observe(job, serial_config(7), {unit_of(0, 250)}),
              observe(other, serial_config(7), {unit_of(0, 250)}))
        << "seed " << seed;
  }
}

std::vector<std::string> labels_of(const RandomJob& job) {
  std::vector<std::string> labels{"source", "column x"};
  for (const auto* parts : {&job.producers, &job.filters, &job.analyzers, &job.outputs}) {
    for (const auto& part : *parts) {
      labels.push_back(part.label);
    }
  }
  return labels;
}

TEST(RandomJobTest, an_exception_anywhere_is_reported_alike_and_the_next_unit_is_whole) {
  int n_failed = 0;
  for (std::uint32_t seed = 0; seed < n_jobs(); seed += 3) {
    const auto job = RandomJob::draw(seed);
    for (const auto& label : labels_of(job)) {
      const Fault fault{label, 1000 + (seed * 37) % 250};
      const auto expected = observe(job, serial_config(3), {unit_of(0, 250)}, fault);
      const auto found = observe(job, parallel_config(seed, 3), {unit_of(0, 250)}, fault);
      EXPECT_EQ(found, expected) << "seed " << seed << ", fault in " << label;
      n_failed += found.error.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(n_failed, static_cast<int>(n_jobs()) / 2);
}

/// Every executor, mostly with tasks only, recorded or not.
TEST(RandomJobTest, every_executor_does_what_serial_does) {
  for (std::uint32_t seed = 0; seed < n_jobs(); ++seed) {
    const auto job = RandomJob::draw(seed);
    const auto labels = labels_of(job);
    const Fault fault{labels[seed % labels.size()], 1000 + (seed * 37) % 250};
    const auto expected = observe(job, serial_config(3), {unit_of(0, 250)}, fault);
    auto kinds = threaded_kinds();
    kinds.push_back(ExecutorKind::serial);
    for (const auto kind : kinds) {
      auto config = parallel_config(seed, 3);
      config.executor = kind;
      config.always_tasks = seed % 3 != 0;
      config.records = seed % 2 == 0;
      config.n_trace_calls = 100;
      EXPECT_EQ(observe(job, config, {unit_of(0, 250)}, fault), expected)
          << "seed " << seed << ", executor " << static_cast<int>(kind);
    }
  }
}

/// So many units and IOVs at a time as the seed wishes, for every number of threads.
ProcessorConfig overlapping_config(std::uint32_t seed) {
  auto config = parallel_config(seed, 3);
  config.concurrent_blocks = 1 + (seed / 2) % 8;
  config.concurrent_units = 1 + (seed / 3) % 5;
  config.concurrent_iovs = 1 + (seed / 5) % 3;
  config.always_tasks = seed % 7 == 0;
  config.records = seed % 2 == 0;
  return config;
}

TEST(RandomJobTest, units_that_overlap_yield_what_they_yield_one_after_another) {
  for (std::uint32_t seed = 0; seed < 4 * n_jobs(); ++seed) {
    const auto job = RandomJob::draw(seed);
    const auto units = testing::draw_units(seed);
    const auto expected = observe(job, serial_config(3), units);
    EXPECT_EQ(expected.units.size(), units.size());
    EXPECT_EQ(expected.n_misplaced, 0) << "seed " << seed;
    EXPECT_EQ(observe(job, overlapping_config(seed), units), expected) << "seed " << seed;
  }
}

/// Modules of all kinds that can be called with parts of blocks see one lumi at a time; some of
/// them have callbacks, where blocks come in their order.
RandomJob cut_by_lumi(RandomJob job, std::size_t n_blocks) {
  for (auto* parts : {&job.producers, &job.filters, &job.analyzers}) {
    for (auto& part : *parts) {
      const bool is_analyzer = parts == &job.analyzers;
      const bool can_be_told =
          n_blocks == 1 || (is_analyzer && part.concurrency != Concurrency::reentrant);
      part.is_cut = part.is_told || part.inputs.size() % 2 == 1;
      part.way = part.is_cut ? RandomJob::Way::before : part.way;
      part.is_told = part.is_told && can_be_told;
    }
  }
  for (auto& part : job.outputs) {
    part.is_told = false;
  }
  return job;
}

/// All units as one, without what depends on where they end.
testing::UnitObservation as_one(const RandomJob& job, const testing::Observation& observation) {
  testing::UnitObservation one;
  const auto join = [](auto& into, const auto& from) {
    for (const auto& [label, values] : from) {
      into[label].insert(into[label].end(), values.begin(), values.end());
    }
  };
  for (const auto& unit : observation.units) {
    join(one.seen, unit.seen);
    join(one.written, unit.written);
    join(one.values, unit.values);
    one.read += unit.read;
  }
  for (const auto& part : job.analyzers) {
    if (part.concurrency == Concurrency::reentrant) {
      std::ranges::sort(one.seen[part.label]);
    }
  }
  return one;
}

TEST(RandomJobTest, blocks_that_are_cut_by_lumi_yield_what_blocks_of_one_lumi_yield) {
  int n_messages = 0;
  for (std::uint32_t seed = 0; seed < 2 * n_jobs(); ++seed) {
    auto config = overlapping_config(seed);
    config.block_size = 7;
    const auto job = cut_by_lumi(RandomJob::draw(seed), config.concurrent_blocks);
    const auto units = testing::draw_units(seed);
    const auto several = testing::join_units(seed, units);
    const auto by_lumi = observe(job, serial_config(3), units);
    const auto found = observe(job, serial_config(7), several);
    EXPECT_EQ(found.units.size(), several.size());
    EXPECT_EQ(found.n_misplaced, 0) << "seed " << seed;
    EXPECT_EQ(as_one(job, found), as_one(job, by_lumi)) << "seed " << seed;
    EXPECT_EQ(found.messages, by_lumi.messages) << "seed " << seed;
    EXPECT_EQ(observe(job, config, several), found) << "seed " << seed;
    for (const auto& [label, messages] : found.messages) {
      n_messages += static_cast<int>(messages.size());
    }
  }
  EXPECT_GT(n_messages, 5 * static_cast<int>(n_jobs()));
}

/// Anywhere in the job, at one of the events of the units, or at none.
Fault draw_fault(std::uint32_t seed, const RandomJob& job, const std::vector<UnitOfWork>& units) {
  const auto n_events = static_cast<std::uint64_t>(units.back().ranges[0].last);
  const auto labels = labels_of(job);
  return {labels[seed % labels.size()], 1000 + (seed * 37) % (n_events + 1)};
}

/// One lane; the next block is read on another thread, which fails first where a column fails.
ProcessorConfig ahead_config(std::uint32_t seed) {
  auto config = parallel_config(seed, 3);
  config.threads = config.concurrent_blocks = 1;
  config.always_tasks = seed % 3 == 0;
  config.records = seed % 2 == 0;
  config.reads_ahead = true;
  return config;
}

/// Columns are also read for blocks that turn out not to need them.
testing::Observation without_reads(testing::Observation observation) {
  std::erase_if(observation.n_calls,
                [](const auto& of) { return of.first.starts_with("column "); });
  return observation;
}

TEST(RandomJobTest, blocks_that_are_read_ahead_yield_the_same) {
  for (std::uint32_t seed = 0; seed < 2 * n_jobs(); ++seed) {
    const auto job = RandomJob::draw(seed);
    const auto units = testing::draw_units(seed);
    const auto fault = draw_fault(seed, job, units);
    for (const auto& where : {std::optional<Fault>{}, std::optional{fault}}) {
      EXPECT_EQ(without_reads(observe(job, ahead_config(seed), units, where)),
                without_reads(observe(job, serial_config(3), units, where)))
          << "seed " << seed << ", fault in " << (where ? where->label : "nothing");
    }
  }
}

TEST(RandomJobTest, a_failure_in_any_unit_leaves_those_before_it_committed_and_no_other) {
  int n_failed = 0;
  for (std::uint32_t seed = 0; seed < 2 * n_jobs(); ++seed) {
    const auto job = RandomJob::draw(seed);
    const auto units = testing::draw_units(seed);
    const auto fault = draw_fault(seed, job, units);
    const auto expected = observe(job, serial_config(3), units, fault);
    EXPECT_EQ(expected.units.size(), units.size());
    EXPECT_EQ(observe(job, overlapping_config(seed), units, fault), expected)
        << "seed " << seed << ", fault in " << fault.label;
    n_failed += expected.error.empty() ? 0 : 1;
  }
  EXPECT_GT(n_failed, static_cast<int>(n_jobs()) / 4);
}

/// How far other modules have come when one fails depends on threads.
testing::Observation without_messages(testing::Observation observation) {
  observation.messages.clear();
  return observation;
}

TEST(RandomJobTest, a_failure_in_a_block_that_is_cut_is_the_same_for_any_threads) {
  int n_failed = 0;
  for (std::uint32_t seed = 0; seed < n_jobs(); ++seed) {
    auto config = overlapping_config(seed);
    config.block_size = 7;
    const auto job = cut_by_lumi(RandomJob::draw(seed), config.concurrent_blocks);
    const auto units = testing::join_units(seed, testing::draw_units(seed));
    const auto fault = draw_fault(seed, job, units);
    const auto expected = observe(job, serial_config(7), units, fault);
    EXPECT_EQ(expected.n_misplaced, 0) << "seed " << seed;
    EXPECT_EQ(without_messages(observe(job, config, units, fault)), without_messages(expected))
        << "seed " << seed << ", fault in " << fault.label;
    n_failed += expected.error.empty() ? 0 : 1;
  }
  EXPECT_GT(n_failed, static_cast<int>(n_jobs()) / 8);
}

}  // namespace
}  // namespace forkrun
