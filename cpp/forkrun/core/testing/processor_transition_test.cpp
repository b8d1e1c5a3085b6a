#include <forkrun/core/run/processor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/module/appending.hpp>
#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun::testing {
namespace {

class TransitionTest : public ProcessorTest {};

/// Notes the messages it gets.
class Listener final : public Producer, public Transitions {
 public:
  explicit Listener(std::vector<std::string>& messages, bool ends_with_commits = false)
      : messages_{messages}, ends_with_commits_{ends_with_commits} {}
  bool ends_with_commits() const override { return ends_with_commits_; }
  void produce(const EventBlock&) override {}
  void pre_fork() override { note("pre_fork"); }
  void post_fork(int child) override { note("post_fork " + std::to_string(child)); }
  void begin_job() override { note("begin_job"); }
  void end_job() override { note("end_job"); }
  void begin_iov(std::uint32_t iov) override { note("begin_iov " + std::to_string(iov)); }
  void end_iov(std::uint32_t iov) override { note("end_iov " + std::to_string(iov)); }
  void begin_run(std::uint32_t run) override { note("begin_run " + std::to_string(run)); }
  void end_run(std::uint32_t run) override { note("end_run " + std::to_string(run)); }
  void begin_lumi(LumiId id) override { note("begin_lumi " + std::to_string(id.lumi)); }
  void end_lumi(LumiId id) override { note("end_lumi " + std::to_string(id.lumi)); }

 private:
  void note(const std::string& message) { messages_.push_back(message); }
  std::vector<std::string>& messages_;
  bool ends_with_commits_;
};

TEST_P(TransitionTest, what_fills_at_its_end_ends_before_each_commit) {
  std::vector<std::string> messages;
  builder.add_module({"l", {}},
                     [&](Construction&) { return std::make_unique<Listener>(messages, true); });
  processor().process(unit_of(0, 10, 1), {});
  processor().process(unit_of(10, 20, 1), {});
  processor().finish();
  const std::vector<std::string> part = {"begin_iov 0", "begin_run 1", "begin_lumi 1",
                                         "end_lumi 1",  "end_run 1",   "end_iov 0"};
  auto twice = part;
  twice.insert(twice.end(), part.begin(), part.end());
  EXPECT_EQ(messages, twice);
}

TEST_P(TransitionTest, runs_and_lumis_begin_and_end_as_units_change) {
  std::vector<std::string> messages;
  builder.add_module({"l", {}},
                     [&](Construction&) { return std::make_unique<Listener>(messages); });
  processor().process(unit_of(0, 10, 1), {});
  processor().process(unit_of(10, 20, 1), {});
  processor().process(unit_of(20, 30, 2), {});
  processor().process(unit_of(30, 40, 2, 2), {});
  processor().finish();
  processor().finish();
  EXPECT_EQ(messages,
            (std::vector<std::string>{"begin_iov 0", "begin_run 1", "begin_lumi 1", "end_lumi 1",
                                      "begin_lumi 2", "end_lumi 2", "end_run 1", "begin_run 2",
                                      "begin_lumi 2", "end_lumi 2", "end_run 2", "end_iov 0"}));
}

/// Notes datasets as well.
class DatasetListener final : public Producer, public Transitions {
 public:
  explicit DatasetListener(std::string& messages) : messages_{messages} {}
  bool ends_with_commits() const override { return false; }
  void produce(const EventBlock&) override {}
  void begin_dataset(std::uint32_t dataset) override { note(" dataset", dataset); }
  void end_dataset(std::uint32_t dataset) override { note(" end", dataset); }
  void begin_run(std::uint32_t run) override { note(" run", run); }
  void begin_lumi(LumiId id) override { note(" lumi", id.lumi); }

 private:
  void note(const char* message, std::uint32_t number) {
    messages_ += message + (" " + std::to_string(number));
  }
  std::string& messages_;
};

TEST_P(TransitionTest, runs_and_lumis_of_different_datasets_are_never_one) {
  std::string messages;
  builder.add_module({"l", {}},
                     [&](Construction&) { return std::make_unique<DatasetListener>(messages); });
  for (const auto dataset : {0U, 0U, 1U}) {
    auto unit = unit_of(0, 10, 1);
    unit.dataset = dataset;
    processor().process(unit, {});
  }
  processor().finish();
  EXPECT_EQ(messages, " dataset 0 run 1 lumi 1 end 0 dataset 1 run 1 lumi 1 end 1");
}

TEST_P(TransitionTest, iovs_change_within_runs_and_across_them) {
  std::vector<std::string> messages;
  builder.add_module({"l", {}},
                     [&](Construction&) { return std::make_unique<Listener>(messages); });
  std::vector<std::uint32_t> iovs;
  builder.add_module({"iovs", {}}, [&](Construction&) {
    return std::make_unique<FunctionAnalyzer>(
        [&iovs](const EventBlock& block, Mask) { iovs.push_back(block.iov()); });
  });
  processor().process({0, {1, 1}, {{0, 0, 10}}, 3}, {});
  processor().process({1, {1, 2}, {{0, 10, 30}}, 4}, {});
  processor().process({2, {2, 1}, {{0, 30, 40}}, 4}, {});
  processor().finish();
  EXPECT_EQ(messages, (std::vector<std::string>{
                          "begin_iov 3", "begin_run 1", "begin_lumi 1", "end_lumi 1", "end_iov 3",
                          "begin_iov 4", "begin_lumi 2", "end_lumi 2", "end_run 1", "begin_run 2",
                          "begin_lumi 1", "end_lumi 1", "end_run 2", "end_iov 4"}));
  EXPECT_EQ(iovs, (std::vector<std::uint32_t>{3, 4, 4, 4}));
}

/// Fills one bin when a lumi ends.
class LumiCounter final : public Analyzer, public Transitions {
 public:
  explicit LumiCounter(Histogram& histogram) : histogram_{histogram} {}
  void analyze(const EventBlock&, Mask) override {}
  void end_lumi(LumiId) override { histogram_.fill(0.5); }

 private:
  Histogram& histogram_;
};

TEST_P(TransitionTest, what_ends_with_a_unit_is_told_before_its_commit_and_fills_its_histograms) {
  std::vector<std::string> messages;
  builder.add_module({"l", {}},
                     [&](Construction&) { return std::make_unique<Listener>(messages); });
  builder.add_module({"lumis", {}}, [](Construction& construction) {
    return std::make_unique<LumiCounter>(construction.book("n", "", RegularAxis{1, 0, 1}));
  });
  std::vector<UnitOfWork> left{
      {2, {1, 6}, {{0, 30, 40}}}, {1, {1, 5}, {{0, 20, 30}}}, {0, {1, 5}, {{0, 0, 20}}}};
  const NextUnit next = [&left]() -> std::optional<UnitToDo> {
    if (left.empty()) {
      return std::nullopt;
    }
    UnitToDo to_do{left.back(), {}};
    left.pop_back();
    return to_do;
  };
  std::vector<double> n_lumis;
  processor().run(next, [&](const UnitOfWork& unit, const UnitResult&) {
    messages.push_back("commit " + std::to_string(unit.number));
    n_lumis.push_back(schedule->histograms()[0].histogram->values()[1]);
  });
  EXPECT_EQ(messages,
            (std::vector<std::string>{"begin_iov 0", "begin_run 1", "begin_lumi 5", "commit 0",
                                      "end_lumi 5", "commit 1", "begin_lumi 6", "end_lumi 6",
                                      "end_run 1", "end_iov 0", "commit 2"}));
  EXPECT_EQ(n_lumis, (std::vector<double>{1, 1, 1}));  // A lumi in two commits has two parts.
}

TEST_P(TransitionTest, modules_are_told_of_job_and_fork_in_order) {
  std::vector<std::string> messages;
  builder.add_module({"l", {}},
                     [&](Construction&) { return std::make_unique<Listener>(messages); });
  schedule = builder.compile();
  schedule->pre_fork();
  schedule->post_fork(3);
  schedule->begin_job();
  schedule->end_job();
  EXPECT_EQ(messages,
            (std::vector<std::string>{"pre_fork", "post_fork 3", "begin_job", "end_job"}));
}

TEST_P(TransitionTest, a_callback_that_fails_is_named_with_its_module_and_lumi) {
  class Broken final : public Producer, public Transitions {
    void produce(const EventBlock&) override {}
    void begin_lumi(LumiId) override { throw std::runtime_error{"no table"}; }
  };
  builder.add_module({"tables", {}}, [](Construction&) { return std::make_unique<Broken>(); });
  EXPECT_EQ(error_of<Error>(unit_of(0, 10, 5)),
            "module \"tables\" failed in begin_lumi of 1:5: no table");
}

/// Events [0, 30): three of lumi 1, none of lumi 2, five of lumi 3, two of lumi 4, the others of
/// run 2, lumi 1; blocks are of 10 events.
UnitOfWork unit_of_several_lumis() {
  return {0,
          {1, 1},
          {{0, 0, 10}, {0, 10, 30}},
          0,
          {{{1, 1}, 3}, {{1, 2}, 3}, {{1, 3}, 8}, {{1, 4}, 10}, {{2, 1}, 30}}};
}

/// Notes lumis and what it is called with.
class LumiReader final : public Analyzer, public Transitions {
 public:
  LumiReader(std::string& notes, JaggedInput<std::int32_t> input) : notes_{notes}, input_{input} {}
  void begin_run(std::uint32_t run) override { note(" run", run); }
  void end_run(std::uint32_t) override { notes_ += " end_run"; }
  void begin_lumi(LumiId id) override { note(" lumi", id.lumi); }
  void end_lumi(LumiId) override { notes_ += " end"; }
  void analyze(const EventBlock& block, Mask selected) override {
    const auto values = block.get(input_);
    EXPECT_EQ(values.size(), block.n_events());
    EXPECT_EQ(selected.size(), block.n_events());
    EXPECT_EQ(n_events_of(block.ranges()), static_cast<std::int64_t>(block.n_events()));
    EXPECT_EQ(event_at(block.ranges()[0].first), block.events()[0]);
    note(" [", block.lumi().lumi);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      EXPECT_EQ(values[event].size(), block.events()[event] % 4);
      notes_ += selected[event] != 0 ? " " + std::to_string(block.events()[event] - 1000) : "";
    }
    notes_ += "]";
  }

 private:
  void note(const char* message, std::uint32_t number) {
    notes_ += message + (" " + std::to_string(number));
  }
  std::string& notes_;
  JaggedInput<std::int32_t> input_;
};

class CutTest : public ProcessorTest {
 protected:
  void add_reader(const std::string& label, std::string& notes) {
    builder.add_module({label, {}}, [&](Construction& construction) {
      const auto input = construction.consumes_jagged<std::int32_t>("v");
      return std::make_unique<LumiReader>(notes, input);
    });
  }
};

TEST_P(CutTest, a_module_with_callbacks_gets_a_part_of_a_block_for_each_lumi_and_others_the_block) {
  std::string notes;
  std::atomic<int> n_calls{};
  Events seen;
  add_reader("reader", notes);
  producer("p", "y", "z", n_calls);
  analyzer("others", seen, "z");
  processor().process(unit_of_several_lumis(), {});
  processor().finish();
  EXPECT_EQ(notes,
            " run 1 lumi 1 [ 1 0 1 2] end lumi 2 end lumi 3 [ 3 3 4 5 6 7] end lumi 4 [ 4 8 9] end"
            " end_run run 2 lumi 1 [ 1 10 11 12 13 14 15 16 17 18 19]"
            " [ 1 20 21 22 23 24 25 26 27 28 29] end end_run");
  EXPECT_EQ(n_calls, 3);
  EXPECT_EQ(seen, range(1000, 1030));
  EXPECT_TRUE(schedule->wants_whole_lumis());
  EXPECT_FALSE(schedule->wants_one_lumi(8));
}

TEST_P(CutTest, an_analyzer_is_not_called_for_lumis_of_which_no_event_is_left_but_hears_of_them) {
  std::string notes;
  filter("f", 7, n_first);  // 1001, 1008, 1015, 1022, 1029
  add_reader("reader", notes);
  builder.add_path({"path", {"f", "reader"}});
  processor().process(unit_of_several_lumis(), {});
  processor().finish();
  EXPECT_EQ(notes,
            " run 1 lumi 1 [ 1 1] end lumi 2 end lumi 3 end lumi 4 [ 4 8] end end_run run 2 lumi 1"
            " [ 1 15] [ 1 22 29] end end_run");
  EXPECT_EQ(n_first, 3);
}

TEST_P(CutTest, columns_and_decisions_of_parts_are_joined) {
  builder.add_module({"lists", {}}, [](Construction& construction) {
    construction.set_one_lumi();
    const auto in = construction.consumes_jagged<std::int32_t>("v");
    const auto lists = construction.produces_jagged<std::int32_t>("w");
    const auto lumis = construction.produces_scalar<std::uint32_t>("lumi");
    return std::make_unique<FunctionProducer>([in, lists, lumis](const EventBlock& block) {
      const auto values = block.get(in);
      std::ranges::fill(block.make(lumis), block.lumi().lumi);
      auto made = forkrun::append(block, lists);
      for (std::size_t event = 0; event < block.n_events(); ++event) {
        for (const auto value : values[event]) {
          made.push_back(value + static_cast<std::int32_t>(block.n_events()));
        }
        made.end_event();
      }
    });
  });
  builder.add_module({"odd", {}}, [](Construction& construction) {
    construction.set_one_lumi();
    return std::make_unique<FunctionFilter>(
        [](const EventBlock& block, std::span<std::uint8_t> accept) {
          ASSERT_EQ(accept.size(), block.n_events());
          std::ranges::fill(accept, static_cast<std::uint8_t>(block.lumi().lumi % 2 * 5));
        });
  });
  std::vector<std::string> rows;
  builder.add_module({"reader", {}}, [&](Construction& construction) {
    const auto lists = construction.consumes_jagged<std::int32_t>("w");
    const auto lumis = construction.consumes_scalar<std::uint32_t>("lumi");
    return std::make_unique<FunctionAnalyzer>(
        [&, lists, lumis](const EventBlock& block, Mask mask) {
          const auto values = block.get(lists);
          for (std::size_t event = 0; event < block.n_events(); ++event) {
            auto row = std::to_string(block.get(lumis)[event]) + (mask[event] != 0 ? ":" : "-");
            for (const auto value : values[event]) {
              row += " " + std::to_string(value);
            }
            rows.push_back(row);
          }
        });
  });
  builder.add_path({"path", {"odd", "reader"}});
  auto unit = unit_of_several_lumis();
  unit.ranges = {{0, 0, 10}};
  unit.lumis.back().last = 10;
  processor().process(unit, {});
  EXPECT_EQ(rows, (std::vector<std::string>{"1:", "1: 3", "1: 3 4", "3: 5 6 7", "3:", "3: 5",
                                            "3: 5 6", "3: 5 6 7", "4-", "4- 2"}));
}

TEST_P(CutTest, a_failure_names_the_part_and_a_callback_in_a_block_its_lumi) {
  class Broken final : public Analyzer, public Transitions {
   public:
    explicit Broken(std::uint32_t lumi) : lumi_{lumi} {}
    void analyze(const EventBlock& block, Mask) override {
      if (block.lumi().lumi == lumi_) {
        throw std::runtime_error{"no table"};
      }
    }
    void end_lumi(LumiId id) override {
      if (id.lumi == 2) {
        throw std::runtime_error{"no rate"};
      }
    }

   private:
    std::uint32_t lumi_;
  };
  std::uint32_t lumi = 1;
  builder.add_module({"m", {}}, [&](Construction&) { return std::make_unique<Broken>(lumi); });
  EXPECT_EQ(error_of<ModuleError>(unit_of_several_lumis()),
            "module \"m\" failed at 1:1, events 1000…1002: no table");
  lumi = 9;
  builder = ScheduleBuilder{MemorySource::description()};
  processor_.reset();
  builder.add_module({"m", {}}, [&](Construction&) { return std::make_unique<Broken>(lumi); });
  EXPECT_EQ(error_of<ModuleError>(unit_of_several_lumis()),
            "module \"m\" failed in end_lumi of 1:2: no rate");
}

/// What a module is that cannot be called with parts of a block.
bool wants_one_lumi(std::size_t n_blocks,
                    const std::function<std::unique_ptr<Module>(Construction&)>& make) {
  ScheduleBuilder builder{MemorySource::description()};
  builder.add_module({"m", {}}, make);
  builder.add_module({"reader", {}}, [](Construction& construction) {
    construction.consume_any_column("z");
    return std::make_unique<FunctionAnalyzer>([](const EventBlock&, Mask) {});
  });
  return builder.compile()->wants_one_lumi(n_blocks);
}

TEST(CutScheduleTest, blocks_are_of_one_lumi_where_a_module_cannot_get_parts_of_them) {
  const auto make = [](Construction& construction) {
    construction.produces_scalar<float>("z");
    construction.set_one_lumi();
    return std::make_unique<FunctionProducer>([](const EventBlock&) {});
  };
  EXPECT_FALSE(wants_one_lumi(8, make));
  EXPECT_TRUE(wants_one_lumi(1, [&](Construction& construction) {
    construction.produces<int>("object");
    return make(construction);
  }));
  EXPECT_TRUE(wants_one_lumi(1, [&](Construction& construction) {
    (void)construction.may_consume_scalar<std::int64_t>("x");
    return make(construction);
  }));
}

TEST(CutScheduleTest,
     blocks_are_of_one_lumi_where_callbacks_need_an_order_that_blocks_do_not_have) {
  const auto make = [](Construction& construction) {
    std::string ignored;
    construction.produces_scalar<float>("z");
    return std::make_unique<DatasetListener>(ignored);
  };
  EXPECT_FALSE(wants_one_lumi(1, make));
  EXPECT_TRUE(wants_one_lumi(2, make));
}

INSTANTIATE_TEST_SUITE_P(Executors, TransitionTest, all_executors, name_of);
INSTANTIATE_TEST_SUITE_P(Executors, CutTest, all_executors, name_of);

}  // namespace
}  // namespace forkrun::testing
