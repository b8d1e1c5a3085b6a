#include <forkrun/core/run/processor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun::testing {
namespace {

class ProcessingTest : public ProcessorTest {};

TEST_P(ProcessingTest, every_event_is_read_once_also_without_modules) {
  const auto result = processor().process(unit_of(0, 95), {});
  EventDigest expected;
  expected.add({1, 1}, range(1000, 1095));
  EXPECT_EQ(result.read, expected);
  EXPECT_EQ(result.read_calls, 10);
  EXPECT_EQ(result.n_blocks, 10U);
  EXPECT_EQ(source.control.n_loads, 10);
  EXPECT_EQ(status.n_events_done, 95U);
  EXPECT_EQ(status.n_units_done, 1U);
}

/// Events 1000 to 1094 in blocks of ten: lumi 1:1 ends within a block, 1:2 with one, 1:3 has one
/// event, 2:1 the rest.
UnitOfWork unit_of_several_lumis() {
  auto unit = unit_of(0, 95);
  unit.lumis = {{{1, 1}, 25}, {{1, 2}, 30}, {{1, 3}, 31}, {{2, 1}, 95}};
  return unit;
}

TEST_P(ProcessingTest, a_producer_of_several_paths_sees_the_events_that_any_of_them_has_left) {
  std::mutex mutex;
  Events seen;
  std::atomic<int> n_calls{};
  builder.add_module({"p", {}}, [&](Construction& construction) {
    construction.set_sees_events_left();
    const auto input = construction.consumes_scalar<std::int64_t>("x");
    const auto output = construction.produces_scalar<std::int64_t>("made");
    return std::make_unique<LeftProducer>([&, input, output](const EventBlock& block, Mask left) {
      const std::scoped_lock lock{mutex};
      const auto values = block.get(input);
      const auto made = block.make(output);
      for_each_left(block, left, [&](std::size_t event) {
        seen.push_back(block.events()[event]);
        made[event] = values[event];
      });
    });
  });
  filter("two", 2, n_calls);
  filter("five", 5, n_calls);
  for (const auto* const label : {"three", "seven"}) {
    builder.add_module({label, {}}, [&](Construction& construction) {
      construction.set_sees_events_left();
      (void)construction.consumes_scalar<std::int64_t>("made");
      return std::make_unique<LeftFilter>([](const EventBlock&, Mask, std::span<std::uint8_t>) {});
    });
  }
  builder.add_path({"a", {"two", "three"}});
  builder.add_path({"b", {"five", "seven"}});
  (void)processor().process(unit_of(0, 95), {});
  std::ranges::sort(seen);
  Events expected;
  for (const auto event : range(1000, 1095)) {
    if (event % 2 == 0 || event % 5 == 0) {
      expected.push_back(event);
    }
  }
  EXPECT_EQ(seen, expected);
}

TEST_P(ProcessingTest, a_block_may_have_events_of_several_lumis) {
  std::mutex mutex;
  std::map<std::uint64_t, LumiId> lumi_of;
  std::vector<std::size_t> n_lumis(10);
  builder.add_module({"spy", {}}, [&](Construction& construction) {
    construction.consumes_scalar<std::int64_t>("y");
    return std::make_unique<FunctionAnalyzer>([&](const EventBlock& block, Mask) {
      const std::scoped_lock lock{mutex};
      n_lumis[block.sequence()] = block.lumis().size();
      for (std::size_t i = 0; i < block.n_events(); ++i) {
        lumi_of[block.events()[i]] = block.lumi_of(i);
      }
    });
  });
  const auto result = processor().process(unit_of_several_lumis(), {});
  EventDigest expected;
  expected.add({1, 1}, range(1000, 1025));
  expected.add({1, 2}, range(1025, 1030));
  expected.add({1, 3}, range(1030, 1031));
  expected.add({2, 1}, range(1031, 1095));
  EXPECT_EQ(result.read, expected);
  EXPECT_EQ(n_lumis, (std::vector<std::size_t>{1, 1, 2, 2, 1, 1, 1, 1, 1, 1}));
  for (const auto& [event, lumi] : lumi_of) {
    const auto wanted = event < 1025    ? LumiId{1, 1}
                        : event < 1030  ? LumiId{1, 2}
                        : event == 1030 ? LumiId{1, 3}
                                        : LumiId{2, 1};
    EXPECT_EQ(lumi, wanted) << event;
  }
  EXPECT_EQ(lumi_of.size(), 95U);
}

TEST_P(ProcessingTest, the_lumi_of_a_block_of_several_is_an_error_that_says_where) {
  builder.add_module({"naive", {}}, [&](Construction& construction) {
    construction.consumes_scalar<std::int64_t>("y");
    return std::make_unique<FunctionAnalyzer>(
        [](const EventBlock& block, Mask) { (void)block.lumi(); });
  });
  const auto error = error_of<Error>(unit_of_several_lumis());
  EXPECT_NE(error.find("module \"naive\" failed at 1:1:1020…1:2:1029"), std::string::npos) << error;
  EXPECT_NE(error.find("events of 2 lumis"), std::string::npos) << error;
}

TEST_P(ProcessingTest, a_unit_may_bring_the_size_of_its_blocks) {
  auto unit = unit_of(0, 95);
  unit.block_size = 50;
  EXPECT_EQ(processor().process(unit, {}).read_calls, 2);
}

TEST_P(ProcessingTest, the_largest_block_says_how_much_memory_columns_take) {
  Events seen;
  analyzer("reads_y", seen);
  auto unit = unit_of(0, 100);
  unit.block_size = 50;
  EXPECT_GE(processor().process(unit, {}).n_column_bytes, 50 * sizeof(std::int64_t));
}

TEST_P(ProcessingTest, producers_and_columns_are_made_once_per_block_and_only_if_needed) {
  MemoryOutput::Record one, two;
  producer("plus_one", "x", "a", n_first);
  producer("plus_two", "a", "b", n_second);
  producer("unneeded", "v_like", "c", n_third);
  producer("maker", "y", "v_like", n_third);
  output("one", {}, one, {"a", "b"});
  output("two", {}, two, {"b"});
  schedule = builder.compile();
  processor_ = std::make_unique<Processor>(*schedule, source, GetParam(), nullptr);
  processor().process(unit_of(0, 100), {{"one", "1"}, {"two", "2"}});
  EXPECT_EQ(n_first, 10);
  EXPECT_EQ(n_second, 10);
  EXPECT_EQ(n_third, 0);
  EXPECT_EQ(source.control.n_reads[0], 10);
  EXPECT_EQ(source.control.n_reads[1], 0);
  EXPECT_EQ(source.control.n_reads[2], 0);
}

TEST_P(ProcessingTest, output_writes_events_of_any_of_its_paths_in_block_order) {
  MemoryOutput::Record either, all;
  filter("by_6", 6, n_first);
  filter("by_10", 10, n_second);
  builder.add_path({"sixes", {"by_6"}});
  builder.add_path({"tens", {"by_10"}});
  output("either", {"sixes", "tens"}, either, {"x"});
  output("all", {}, all);
  const auto result = processor().process(unit_of(0, 95), {{"either", "e"}, {"all", "a"}});
  Events expected;
  for (const auto event : range(1000, 1095)) {
    if (event % 6 == 0 || event % 10 == 0) {
      expected.push_back(event);
    }
  }
  EXPECT_EQ(either.events, expected);
  EXPECT_EQ(all.events, range(1000, 1095));
  EXPECT_EQ(either.sequences, range(0, 10));
  EXPECT_EQ(either.values.front(), 3 * 1000);
  ASSERT_EQ(result.outputs.size(), 2U);
  EXPECT_EQ(result.outputs[0].written.count(), expected.size());
  EXPECT_EQ(result.outputs[1].written, result.read);
}

TEST_P(ProcessingTest, path_stops_when_no_event_is_left_and_its_later_inputs_are_not_made) {
  MemoryOutput::Record record;
  Events seen;
  filter("none", 10'000, n_first);
  filter("later", 1, n_second, "a");
  producer("plus_one", "x", "a", n_third);
  analyzer("histograms", seen, "a");
  builder.add_path({"path", {"none", "later", "histograms"}});
  output("out", {"path"}, record, {"a"});
  processor().process(unit_of(0, 50), {{"out", "o"}});
  EXPECT_EQ(n_first, 5);
  EXPECT_EQ(n_second, 0);
  EXPECT_EQ(n_third, 0);
  EXPECT_EQ(source.control.n_reads[0], 0);
  EXPECT_EQ(seen, Events{});
  EXPECT_EQ(record.events, Events{});
  EXPECT_EQ(record.sequences, range(0, 5));
}

TEST_P(ProcessingTest, filter_on_several_paths_runs_once_over_all_events_of_the_block) {
  MemoryOutput::Record record;
  std::atomic<std::size_t> n_events_seen{};
  filter("even", 2, n_first);
  filter("by_5", 5, n_second);
  builder.add_module({"shared", {}}, [&](Construction&) {
    return std::make_unique<FunctionFilter>(
        [&](const EventBlock& block, std::span<std::uint8_t> accept) {
          ++n_third;
          n_events_seen += accept.size();
          for (std::size_t i = 0; i < accept.size(); ++i) {
            accept[i] = block.events()[i] % 3 == 0 ? 1 : 0;
          }
        });
  });
  builder.add_path({"p", {"even", "shared"}});
  builder.add_path({"q", {"by_5", "shared"}});
  output("out", {"p", "q"}, record);
  processor().process(unit_of(0, 40), {{"out", "o"}});
  EXPECT_EQ(n_third, 4);
  EXPECT_EQ(n_events_seen, 40U);
  EXPECT_EQ(record.events, (Events{1002, 1005, 1008, 1014, 1020, 1026, 1032, 1035, 1038}));
}

TEST_P(ProcessingTest, analyzer_sees_what_the_filters_before_it_left_in_order) {
  Events before, between, after, free;
  filter("even", 2, n_first);
  filter("by_3", 3, n_second);
  analyzer("before", before);
  analyzer("between", between);
  analyzer("after", after);
  analyzer("free", free);
  builder.add_path({"path", {"before", "even", "between", "by_3", "after"}});
  processor().process(unit_of(0, 60), {});
  EXPECT_EQ(before, range(1000, 1060));
  EXPECT_EQ(between, range(1000, 1060, 2));
  EXPECT_EQ(after, range(1002, 1060, 6));
  EXPECT_EQ(free, range(1000, 1060));
}

TEST_P(ProcessingTest, analyzer_on_two_paths_sees_events_of_either_once) {
  Events seen;
  filter("by_6", 6, n_first);
  filter("by_10", 10, n_second);
  analyzer("both", seen);
  builder.add_path({"p", {"by_6", "both"}});
  builder.add_path({"q", {"by_10", "both"}});
  processor().process(unit_of(0, 30), {});
  EXPECT_EQ(seen, (Events{1000, 1002, 1008, 1010, 1014, 1020, 1026}));
}

TEST_P(ProcessingTest, products_of_any_type_keep_their_content_from_block_to_block) {
  struct Count {
    std::uint64_t sum{};
  };
  std::atomic<std::uint64_t> total{};
  builder.add_module({"counts", {}}, [](Construction& construction) {
    const auto output = construction.produces<Count>("count");
    return std::make_unique<FunctionProducer>(
        [output](const EventBlock& block) { block.make(output).sum += block.n_events(); });
  });
  builder.add_module({"reads", {}}, [&](Construction& construction) {
    const auto input = construction.consumes<Count>("count");
    return std::make_unique<FunctionAnalyzer>(
        [input, &total](const EventBlock& block, Mask) { total = block.get(input).sum; });
  });
  processor().process(unit_of(0, 10), {});
  EXPECT_EQ(total, 10U);
}

TEST_P(ProcessingTest, jagged_columns_arrive_with_their_offsets) {
  std::atomic<std::uint64_t> n_wrong{};
  builder.add_module({"sizes", {}}, [&](Construction& construction) {
    const auto input = construction.consumes_jagged<std::int32_t>("v");
    return std::make_unique<FunctionAnalyzer>([input, &n_wrong](const EventBlock& block, Mask) {
      const auto lists = block.get(input);
      for (std::size_t i = 0; i < block.n_events(); ++i) {
        const auto list = lists[i];
        const bool right = list.size() == block.events()[i] % 4 &&
                           (list.empty() || list.back() + 1 == static_cast<int>(list.size()));
        n_wrong += right ? 0 : 1;
      }
    });
  });
  processor().process(unit_of(0, 77), {});
  EXPECT_EQ(n_wrong, 0U);
}

TEST_P(ProcessingTest, output_can_use_all_threads_for_its_parts) {
  MemoryOutput::Record record;
  std::atomic<int> n_parts{};
  output("out", {}, record, {}, [&](const EventBlock&, Mask, Parallel& parallel) {
    parallel.for_each(7, [&](std::size_t) { ++n_parts; });
  });
  processor().process(unit_of(0, 100), {{"out", "o"}});
  EXPECT_EQ(n_parts, 70);
}

TEST_P(ProcessingTest, outputs_of_one_block_write_one_after_another) {
  MemoryOutput::Record first, second, third;
  std::array<std::atomic<int>, 16> n_writing{};
  std::atomic<int> n_together{};
  const auto write = [&](const EventBlock& block, Mask, Parallel&) {
    n_together += n_writing[block.lane()].fetch_add(1) == 0 ? 0 : 1;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    n_writing[block.lane()].fetch_sub(1);
  };
  output("first", {}, first, {}, write);
  output("second", {}, second, {"x"}, write);
  output("third", {}, third, {}, write);
  processor().process(unit_of(0, 100), {{"first", "1"}, {"second", "2"}, {"third", "3"}});
  EXPECT_EQ(n_together, 0);
  for (const auto* record : {&first, &second, &third}) {
    EXPECT_EQ(record->sequences, range(0, 10));
    EXPECT_EQ(record->events, range(1000, 1100));
  }
}

TEST_P(ProcessingTest, block_without_events_is_shown_to_outputs_alone) {
  MemoryOutput::Record record;
  Events seen;
  filter("even", 2, n_first);
  filter("by_3", 3, n_second);
  analyzer("free", seen);
  builder.add_path({"path", {"even", "by_3"}});
  output("out", {"path"}, record, {"x"});
  const UnitOfWork unit{0, {1, 1}, {{0, 0, 10}, {0, 10, 10}, {0, 10, 20}}};
  const auto result = processor().process(unit, {{"out", "o"}});
  EXPECT_EQ(n_first, 2);
  EXPECT_EQ(n_second, 2);
  EXPECT_EQ(seen, range(1000, 1020));
  EXPECT_EQ(record.sequences, range(0, 3));
  EXPECT_EQ(record.events, (Events{1002, 1008, 1014}));
  EXPECT_EQ(result.read.count(), 20U);
}

TEST_P(ProcessingTest, unit_without_events_yields_empty_outputs) {
  MemoryOutput::Record record;
  output("out", {}, record);
  const auto result = processor().process({0, {1, 1}, {}}, {{"out", "o"}});
  EXPECT_EQ(result.read, EventDigest{});
  EXPECT_EQ(record.n_closed, 1);
}

TEST_P(ProcessingTest, histograms_hold_one_unit) {
  builder.add_module({"masses", {}}, [](Construction& construction) {
    auto& histogram = construction.book("m", "", RegularAxis{2, 1000, 1020});
    return std::make_unique<FunctionAnalyzer>([&histogram](const EventBlock& block, Mask) {
      for (const auto event : block.events()) {
        histogram.fill(static_cast<double>(event));
      }
    });
  });
  processor().process(unit_of(0, 15), {});
  ASSERT_EQ(schedule->histograms().size(), 1U);
  EXPECT_EQ(*schedule->histograms()[0].module, "masses");
  auto& histogram = *schedule->histograms()[0].histogram;
  EXPECT_EQ(histogram.values()[1], 10);
  EXPECT_EQ(histogram.values()[2], 5);
  processor().process(unit_of(15, 25), {});
  EXPECT_EQ(histogram.values()[1], 0);
  EXPECT_EQ(histogram.values()[2], 5);
  EXPECT_EQ(histogram.values()[3], 5);
  schedule->clear_histograms();
  EXPECT_EQ(histogram.values()[3], 0);
}

INSTANTIATE_TEST_SUITE_P(Executors, ProcessingTest, all_executors, name_of);

}  // namespace
}  // namespace forkrun::testing
