#include <forkrun/process/commit_counter.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

struct Line {
  int unit{};
  int n_events{20};
  int n_units{1};
  std::string skipped{"[]"};
  std::string outputs{"{}"};
};

std::string text_of(const Line& line) {
  return R"({"unit":)" + std::to_string(line.unit) +
         R"(,"child":0,"pid":42,"run":1,"lumi":7,"n_events":)" + std::to_string(line.n_events) +
         R"(,"digest":"00ff","skipped":)" + line.skipped + R"(,"outputs":)" + line.outputs +
         R"(,"start_s":)" + std::to_string(100 + line.unit) + R"(,"end_s":)" +
         std::to_string(101 + line.unit) + R"(,"n_units":)" + std::to_string(line.n_units) +
         R"(,"block_size":0,"cutflow":null,"crc32":"0123abcd"})" + "\n";
}

class CommitCounterTest : public testing::Test {
 protected:
  ~CommitCounterTest() override { std::remove(path_.c_str()); }

  CommitCounter::Ledger read(const std::string& text, const std::set<std::uint64_t>& apart = {}) {
    std::ofstream{path_} << text;
    return counter_.read(path_, apart);
  }

  std::string path_{testing::TempDir() + "commit_counter_test." + std::to_string(::getpid())};
  CommitCounter counter_;
};

TEST_F(CommitCounterTest, units_and_events_of_lines_are_added_up) {
  const auto ledger = read(text_of({3}) + text_of({.unit = 4, .n_events = 5, .n_units = 6}));
  EXPECT_EQ(counter_.total(), (CommitCounts{7, 25, 0}));
  EXPECT_EQ(ledger.n_events, 25U);
  EXPECT_EQ(ledger.start_s, 103.0);
  EXPECT_EQ(ledger.end_s, 105.0);
  EXPECT_TRUE(ledger.others.empty());
}

TEST_F(CommitCounterTest, a_line_without_its_end_is_no_commit) {
  auto text = text_of({0});
  text.pop_back();
  const auto ledger = read(text_of({1}) + text);
  EXPECT_EQ(counter_.total().n_units, 1U);
  EXPECT_TRUE(ledger.others.empty());
}

TEST_F(CommitCounterTest, a_unit_that_is_there_twice_counts_once) {
  (void)read(text_of({0}));
  (void)read(text_of({0}) + text_of({1}));
  EXPECT_EQ(counter_.total(), (CommitCounts{2, 40, 0}));
  counter_.put(1, {.n_units = 1, .n_events = 19, .n_left_out = 1});
  EXPECT_EQ(counter_.total(), (CommitCounts{2, 39, 1}));
}

TEST_F(CommitCounterTest, lines_that_are_no_plain_commits_are_given_back) {
  const auto skipped = text_of({.unit = 1, .skipped = R"([{"event":4}])"});
  const auto plain = text_of({2});
  const auto cut = plain.substr(0, 60) + plain.substr(70);
  const auto ledger = read(skipped + cut + "\n" + text_of({3}) + text_of({4}), {4});
  const auto all = ledger.others.size();
  EXPECT_EQ(all, 4U);
  EXPECT_EQ(ledger.others[0] + "\n", skipped);
  EXPECT_EQ(ledger.others[1] + "\n", cut);
  EXPECT_EQ(ledger.others[3] + "\n", text_of({4}));
  EXPECT_EQ(counter_.total(), (CommitCounts{1, 20, 0}));
}

TEST_F(CommitCounterTest, a_line_with_a_damaged_end_or_number_is_given_back) {
  auto no_check = text_of({0});
  no_check.replace(no_check.size() - 4, 1, "?");
  EXPECT_EQ(read(no_check + R"({"unit":99999999999999999999999,"child":0})" + "\n").others.size(),
            2U);
  EXPECT_EQ(counter_.total().n_units, 0U);
}

TEST_F(CommitCounterTest, an_output_may_have_the_name_of_a_field) {
  (void)read(text_of({.unit = 0, .n_units = 3, .outputs = R"({"n_units":{"n_events":9}})"}));
  EXPECT_EQ(counter_.total(), (CommitCounts{3, 20, 0}));
}

TEST_F(CommitCounterTest, files_and_lines_longer_than_the_buffer_are_read_whole) {
  const auto long_line = text_of({.unit = 5000, .outputs = '"' + std::string(400'000, 'x') + '"'});
  std::string text;
  for (int unit = 0; unit < 3000; ++unit) {
    text += text_of({unit});
  }
  const auto ledger = read(text + long_line + text_of({5001}));
  EXPECT_EQ(counter_.total(), (CommitCounts{3002, 60'040, 0}));
  EXPECT_EQ(ledger.start_s, 100.0);
  EXPECT_EQ(ledger.end_s, 5102.0);
}

TEST_F(CommitCounterTest, a_ledger_that_is_not_there_is_an_error) {
  EXPECT_THROW((void)counter_.read(path_, {}), InputError);
}

}  // namespace
}  // namespace forkrun
