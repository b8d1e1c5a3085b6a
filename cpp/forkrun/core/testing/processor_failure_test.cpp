#include <forkrun/core/run/processor.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun::testing {
namespace {

class FailureTest : public ProcessorTest {};

TEST_P(FailureTest, error_names_module_events_and_cause_and_abandons_the_outputs) {
  MemoryOutput::Record record;
  builder.add_module({"breaks", {}}, [](Construction&) {
    return std::make_unique<FunctionFilter>([](const EventBlock& block, std::span<std::uint8_t>) {
      if (block.sequence() == 3) {
        throw std::runtime_error{"cannot go on"};
      }
    });
  });
  builder.add_path({"path", {"breaks"}});
  output("out", {"path"}, record);
  EXPECT_EQ(error_of<Error>(unit_of(0, 1000, 7), {{"out", "o"}}),
            "module \"breaks\" failed at 1:7, events 1030…1039: cannot go on");
  EXPECT_EQ(record.n_abandoned, 1);
  EXPECT_EQ(record.n_closed, 0);
  EXPECT_EQ(status.n_units_done, 0U);
  record.events.clear();
  const auto result = processor().process(unit_of(2000, 2025), {{"out", "o"}});
  EXPECT_EQ(result.read.count(), 25U);
  EXPECT_EQ(record.events, range(3000, 3025));
  EXPECT_EQ(record.n_closed, 1);
}

TEST_P(FailureTest, input_errors_stay_input_errors) {
  Events seen;
  analyzer("free", seen, "x");
  source.control.x_fails_at = 1005;
  EXPECT_EQ(error_of<InputError>(unit_of(0, 10)),
            "reading column \"x\" failed at 1:1, events 1000…1009: bad basket");
  source.control.load_fails_at = 1025;
  EXPECT_EQ(error_of<InputError>(unit_of(20, 30)),
            "reading failed at 1:1, entries 20…29 of file 0: no such entry");
}

TEST_P(FailureTest, producer_that_fills_too_little_is_found_out) {
  MemoryOutput::Record record;
  builder.add_module({"lazy", {}}, [](Construction& construction) {
    construction.produces_scalar<std::int64_t>("filled");
    return std::make_unique<FunctionProducer>([](const EventBlock&) {});
  });
  output("out", {}, record, {"filled"});
  EXPECT_EQ(error_of<Error>(unit_of(0, 10), {{"out", "o"}}),
            "module \"lazy\" failed at 1:1, events 1000…1009: product \"filled\" was filled for 0 "
            "events of a block of 10");
}

TEST_P(FailureTest, exception_in_a_part_of_an_output_ends_the_unit) {
  MemoryOutput::Record record;
  output("out", {}, record, {}, [&](const EventBlock&, Mask, Parallel& parallel) {
    parallel.for_each(7, [&](std::size_t part) {
      if (part == 5) {
        throw OutputError{"disk full"};
      }
    });
  });
  EXPECT_EQ(error_of<OutputError>(unit_of(0, 10), {{"out", "o"}}),
            "output \"out\" failed at 1:1, events 1000…1009: disk full");
}

TEST_P(FailureTest, path_of_an_output_must_be_given) {
  MemoryOutput::Record record;
  output("out", {}, record);
  EXPECT_EQ(error_of<Error>(unit_of(0, 10)), "missing path for output \"out\"");
}

INSTANTIATE_TEST_SUITE_P(Executors, FailureTest, all_executors, name_of);

}  // namespace
}  // namespace forkrun::testing
