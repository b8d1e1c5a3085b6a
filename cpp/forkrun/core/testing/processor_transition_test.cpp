#include <forkrun/core/run/processor.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun::testing {
namespace {

class TransitionTest : public ProcessorTest {};

/// Notes the messages it gets.
class Listener final : public Producer, public Transitions {
 public:
  explicit Listener(std::vector<std::string>& messages) : messages_{messages} {}
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
};

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
  EXPECT_EQ(n_lumis, (std::vector<double>{0, 1, 1}));
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

INSTANTIATE_TEST_SUITE_P(Executors, TransitionTest, all_executors, name_of);

}  // namespace
}  // namespace forkrun::testing
