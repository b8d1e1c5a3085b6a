// Units that are in flight at the same time.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/run/processor.hpp>
#include <forkrun/core/testing/function_modules.hpp>
#include <forkrun/core/testing/memory_source.hpp>

namespace forkrun::testing {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// A lumi with one block of ten events.
UnitOfWork small_unit(std::uint64_t number, std::uint32_t iov = 0) {
  const auto first = static_cast<std::int64_t>(10 * number);
  return {number, {1, static_cast<std::uint32_t>(number + 1)}, {{0, first, first + 10}}, iov};
}

/// Waits for a fact, not for ever.
class Fact {
 public:
  void set() {
    const std::scoped_lock lock{mutex_};
    is_set_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool comes() { return comes_within(std::chrono::seconds{20}); }
  [[nodiscard]] bool is_set() { return comes_within(std::chrono::seconds{0}); }

 private:
  bool comes_within(std::chrono::seconds time) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, time, [this] { return is_set_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_{};
};

/// A producer `produce`, an output that writes what it makes, and the units 0, 1, … before
/// `n_units`.
class UnitOverlapTest : public ::testing::Test {
 protected:
  void add_producer(const FunctionProducer::Function& produce) {
    builder.add_module({"producer", {}}, [&](Construction& construction) {
      const auto made = construction.produces_scalar<std::int64_t>("made");
      return std::make_unique<FunctionProducer>([made, produce](const EventBlock& block) {
        produce(block);
        (void)block.make(made);
      });
    });
    builder.add_output({"out", {}, {"made"}}, [&](Construction& construction) {
      const auto made = construction.consumes_scalar<std::int64_t>("made");
      return std::make_unique<MemoryOutput>(record, std::vector{made});
    });
  }

  void run(std::size_t concurrent_units, std::size_t concurrent_iovs = 1) {
    schedule = builder.compile();
    processor = std::make_unique<Processor>(*schedule, source,
                                            config(concurrent_units, concurrent_iovs), &status);
    processor->run(
        [this]() -> std::optional<UnitToDo> {
          if (taken.size() == n_units) {
            return std::nullopt;
          }
          taken.push_back(taken.size());
          if (on_take) {
            on_take();
          }
          const auto unit = small_unit(taken.back(), iov_of(taken.back()));
          return UnitToDo{unit, {{"out", "path"}}, taken.back() == alone};
        },
        [this](const UnitOfWork& unit, const UnitResult&) {
          if (on_commit) {
            on_commit(unit.number);
          }
          committed.push_back(unit.number);
        });
  }

  /// What `run` throws, in words.
  template <typename E>
  std::string error_of_run(std::size_t concurrent_units) {
    try {
      run(concurrent_units);
    } catch (const E& error) {
      return error.what();
    }
    return "no error";
  }

  static ProcessorConfig config(std::size_t concurrent_units, std::size_t concurrent_iovs) {
    ProcessorConfig config{ExecutorKind::tbb, 2, 2};
    config.concurrent_units = concurrent_units;
    config.concurrent_iovs = concurrent_iovs;
    return config;
  }

  std::size_t n_units = 2;
  std::optional<std::uint64_t> alone;  ///< a unit
  std::function<void()> on_take;
  std::function<void(std::uint64_t)> on_commit;
  std::function<std::uint32_t(std::uint64_t)> iov_of = [](std::uint64_t) { return 0; };
  Numbers taken, committed;
  MemoryOutput::Record record;
  MemorySource source;
  StatusSlot status;
  ScheduleBuilder builder{MemorySource::description()};
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<Processor> processor;
};

TEST_F(UnitOverlapTest, the_next_unit_begins_while_the_last_block_of_one_is_in_work) {
  Fact second_has_begun;
  add_producer([&](const EventBlock& block) {
    if (block.lumi().lumi == 2) {
      second_has_begun.set();
    } else if (!second_has_begun.comes()) {
      throw Error{"the second unit does not begin"};
    }
  });
  run(2);
  EXPECT_EQ(committed, (Numbers{0, 1}));
  EXPECT_EQ(record.opened.size(), 2U);
}

TEST_F(UnitOverlapTest, the_next_unit_begins_while_one_is_committed) {
  Fact second_has_begun;
  add_producer([&](const EventBlock& block) {
    if (block.lumi().lumi == 2) {
      second_has_begun.set();
    }
  });
  on_commit = [&](std::uint64_t number) {
    if (number == 0) {
      EXPECT_TRUE(second_has_begun.comes());
      EXPECT_EQ(record.opened.size(), 1U);
    }
  };
  run(2);
  EXPECT_EQ(committed, (Numbers{0, 1}));
}

TEST_F(UnitOverlapTest, one_unit_at_a_time_is_asked_for_when_the_one_before_has_ended) {
  std::atomic<int> n_ended{};
  add_producer([&](const EventBlock&) { ++n_ended; });
  n_units = 20;
  on_take = [&] { EXPECT_EQ(n_ended, static_cast<int>(taken.size()) - 1); };
  run(1);
  EXPECT_EQ(committed.size(), 20U);
}

TEST_F(UnitOverlapTest, no_more_units_are_in_work_than_allowed) {
  std::atomic<std::size_t> n_committed{};
  std::size_t n_most = 0;
  add_producer([](const EventBlock&) {});
  n_units = 200;
  on_take = [&] { n_most = std::max(n_most, taken.size() - n_committed); };
  on_commit = [&](std::uint64_t) { ++n_committed; };
  run(3);
  EXPECT_LE(n_most, 3U);
  EXPECT_EQ(committed.size(), 200U);
}

TEST_F(UnitOverlapTest, a_unit_of_another_iov_waits_where_one_iov_is_allowed) {
  Fact iov_is_over;
  std::atomic<bool> came_early{};
  iov_of = [](std::uint64_t number) { return number == 2 ? 1U : 0U; };
  n_units = 3;
  add_producer([&](const EventBlock& block) {
    if (block.iov() == 1 && !iov_is_over.is_set()) {
      came_early = true;
    }
  });
  on_commit = [&](std::uint64_t number) {
    if (number == 1) {
      iov_is_over.set();
    }
  };
  run(3);
  EXPECT_FALSE(came_early);
  EXPECT_EQ(committed, (Numbers{0, 1, 2}));
}

TEST_F(UnitOverlapTest, a_unit_that_is_to_be_alone_has_no_other_in_work_beside_it) {
  std::atomic<int> n_inside{};
  std::atomic<int> n_together{};
  add_producer([&](const EventBlock& block) {
    const auto is_alone = block.lumi().lumi == *alone + 1;
    n_together += ++n_inside != 1 && is_alone ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::microseconds{200});
    n_together += n_inside-- != 1 && is_alone ? 1 : 0;
  });
  n_units = 9;
  alone = 4;
  run(4);
  EXPECT_EQ(n_together, 0);
  EXPECT_EQ(committed.size(), 9U);
}

TEST_F(UnitOverlapTest, iovs_overlap_where_two_are_allowed) {
  Fact second_has_begun;
  iov_of = [](std::uint64_t number) { return static_cast<std::uint32_t>(number); };
  add_producer([&](const EventBlock& block) {
    if (block.iov() == 1) {
      second_has_begun.set();
    } else if (!second_has_begun.comes()) {
      throw Error{"the second IOV does not begin"};
    }
  });
  run(2, 2);
  EXPECT_EQ(committed, (Numbers{0, 1}));
}

TEST_F(UnitOverlapTest, a_unit_that_fails_ahead_does_not_hurt_the_one_before) {
  Fact second_has_failed;
  add_producer([&](const EventBlock& block) {
    if (block.lumi().lumi == 2) {
      second_has_failed.set();
      throw std::runtime_error{"cannot go on"};
    }
    EXPECT_TRUE(second_has_failed.comes());
  });
  EXPECT_EQ(error_of_run<Error>(2),
            "module \"producer\" failed at 1:2, events 1010…1019: cannot go on");
  EXPECT_EQ(committed, (Numbers{0}));
  EXPECT_EQ(record.n_closed, 1);
  EXPECT_EQ(record.n_abandoned, 1);
}

TEST_F(UnitOverlapTest, a_unit_ahead_of_one_that_fails_is_never_opened) {
  Fact second_has_begun;
  add_producer([&](const EventBlock& block) {
    if (block.lumi().lumi == 1) {
      EXPECT_TRUE(second_has_begun.comes());
      throw std::runtime_error{"cannot go on"};
    }
    second_has_begun.set();
  });
  EXPECT_EQ(error_of_run<Error>(2),
            "module \"producer\" failed at 1:1, events 1000…1009: cannot go on");
  EXPECT_EQ(committed, Numbers{});
  EXPECT_EQ(record.opened.size(), 1U);
  EXPECT_EQ(record.n_abandoned, 1);
  EXPECT_EQ(record.events, Numbers{});
}

TEST_F(UnitOverlapTest, what_a_commit_throws_comes_out_and_drops_the_units_behind) {
  add_producer([](const EventBlock&) {});
  n_units = 5;
  on_commit = [](std::uint64_t number) {
    if (number == 2) {
      throw std::out_of_range{"disk full"};
    }
  };
  EXPECT_EQ(error_of_run<std::out_of_range>(4), "disk full");
  EXPECT_EQ(committed, (Numbers{0, 1}));
  EXPECT_EQ(record.opened.size(), 3U);
  EXPECT_EQ(status.n_units_done, 2U);
}

TEST_F(UnitOverlapTest, who_cannot_give_a_unit_ends_the_run_when_those_given_are_committed) {
  add_producer([](const EventBlock&) {});
  n_units = 5;
  on_take = [this] {
    if (taken.size() == 4) {
      throw std::out_of_range{"no plan"};
    }
  };
  EXPECT_EQ(error_of_run<std::out_of_range>(3), "no plan");
  EXPECT_EQ(committed, (Numbers{0, 1, 2}));
}

TEST_F(UnitOverlapTest, a_stop_in_a_commit_drops_the_units_behind) {
  Fact second_has_begun;
  add_producer([&](const EventBlock& block) {
    if (block.lumi().lumi == 2) {
      second_has_begun.set();
    }
  });
  n_units = 9;
  on_commit = [&](std::uint64_t) {
    EXPECT_TRUE(second_has_begun.comes());
    processor->stop();
  };
  run(2);
  EXPECT_EQ(committed, (Numbers{0}));
  EXPECT_EQ(record.opened.size(), 1U);
  EXPECT_EQ(record.n_abandoned, 0);
}

TEST_F(UnitOverlapTest, an_order_of_the_parent_stops_between_blocks) {
  add_producer([this](const EventBlock& block) {
    if (block.lumi().lumi == 3) {
      status.order = static_cast<std::uint32_t>(Order::end_after_block);
    }
  });
  n_units = 9;
  EXPECT_THROW(run(1), Stopped);
  EXPECT_EQ(committed, (Numbers{0, 1, 2}));
}

TEST_F(UnitOverlapTest, a_processor_can_run_again_after_a_failure) {
  std::atomic<bool> fails{true};
  add_producer([&](const EventBlock& block) {
    if (block.lumi().lumi == 2 && fails) {
      throw std::runtime_error{"cannot go on"};
    }
  });
  EXPECT_THROW(run(2), Error);
  fails = false;
  const auto result = processor->process(small_unit(1), {{"out", "path"}});
  EXPECT_EQ(result.read.count(), 10U);
}

}  // namespace
}  // namespace forkrun::testing
