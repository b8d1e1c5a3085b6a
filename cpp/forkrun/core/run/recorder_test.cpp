#include <forkrun/core/run/recorder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace forkrun {
namespace {

Recorder::Call call_of(std::uint32_t node, std::int64_t start_ns, std::int64_t end_ns) {
  return {node, 0, 1, 1, 0, start_ns, end_ns};
}

TEST(RecorderTest, whoever_wants_to_know_is_told_of_every_call_before_and_after_it) {
  std::vector<std::pair<std::uint32_t, bool>> told;
  Recorder recorder{2, 0, [&](auto node, auto has_ended) { told.emplace_back(node, has_ended); }};
  recorder.note_begin(1);
  recorder.note(call_of(1, 1000, 1100), -1, false);
  recorder.note_begin(0);
  recorder.note(call_of(0, 1000, 1100), -1, true);
  const std::vector<std::pair<std::uint32_t, bool>> expected{{1, false}, {0, false}, {0, true}};
  EXPECT_EQ(told, expected);
}

TEST(RecorderTest, counts_and_times_of_all_threads_are_summed) {
  Recorder recorder{2, 100};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        recorder.note(call_of(1, 1000, 1100), 60, true);
        recorder.note(call_of(1, 2000, 2300), -1, true);
        recorder.note_wait(1, 0, 500, 20);
      });
    }
  }
  const auto statistics = recorder.statistics();
  EXPECT_EQ(statistics[0].n_calls, 0U);
  EXPECT_EQ(statistics[1].n_calls, 8U);
  EXPECT_EQ(statistics[1].total_ns, 1600);
  EXPECT_EQ(statistics[1].longest_ns, 300);
  EXPECT_EQ(statistics[1].cpu_ns, 240);
  EXPECT_EQ(statistics[1].cpu_wall_ns, 400);
  EXPECT_EQ(statistics[1].wait_inputs_ns, 2000);
  EXPECT_EQ(statistics[1].wait_queue_ns, 80);
  EXPECT_EQ(statistics[1].bins[Recorder::bin_of(100)], 4U);
  EXPECT_EQ(statistics[1].bins[Recorder::bin_of(300)], 4U);
  ASSERT_EQ(recorder.stalls().size(), 1U);
  EXPECT_EQ(recorder.stalls()[0].count, 4U);
  EXPECT_EQ(recorder.stalls()[0].total_ns, 2000);
  EXPECT_EQ(recorder.trace().size(), 8U);
  EXPECT_EQ(recorder.trace().back().thread, 3U);
}

TEST(RecorderTest, the_trace_is_bounded_and_says_what_it_left_out) {
  Recorder recorder{1, 3};
  for (int i = 0; i < 10; ++i) {
    recorder.note(call_of(0, i, i + 1), -1, true);
  }
  EXPECT_EQ(recorder.trace().size(), 3U);
  EXPECT_EQ(recorder.trace()[2].call.start_ns, 2);
  EXPECT_EQ(recorder.n_not_traced(), 7U);
  EXPECT_EQ(recorder.statistics()[0].n_calls, 10U);
}

TEST(RecorderTest, cpu_time_is_measured_of_all_long_calls_and_of_one_short_call_in_eight) {
  Recorder recorder{2, 0};
  std::vector<int> wanted(2);
  for (int i = 0; i < 16; ++i) {
    wanted[0] += recorder.wants_cpu_time(0) ? 1 : 0;
    wanted[1] += recorder.wants_cpu_time(1) ? 1 : 0;
    recorder.note(call_of(0, 0, 49'000), -1, true);
    recorder.note(call_of(1, 0, 51'000), -1, true);
  }
  EXPECT_EQ(wanted, (std::vector{2, 16}));
}

TEST(RecorderTest, pieces_of_a_coroutine_are_one_call) {
  Recorder recorder{1, 0};
  recorder.note(call_of(0, 0, 10), -1, false);
  recorder.note(call_of(0, 50, 60), -1, true);
  EXPECT_EQ(recorder.statistics()[0].n_calls, 1U);
  EXPECT_EQ(recorder.statistics()[0].total_ns, 20);
}

TEST(RecorderTest, what_a_thread_does_within_a_call_is_of_its_own_kind) {
  Recorder recorder{1, 0};
  const auto start = recorder.course().origin_ns;
  {
    const Recorder::Doing module{recorder, Activity::Kind::processing};
    {
      const Recorder::Doing column{recorder, Activity::Kind::unpacking};
      column.end(start + 100, start + 400, 120);
    }
    {
      const Recorder::Doing column{recorder, Activity::Kind::unpacking};
      column.end_waiting(start + 500, start + 600);
      SourceLane::Cost ahead{start + 20, 50, 50, {}, true};
      ahead.input.own.read_ns = 30;
      recorder.note_earlier(ahead);
    }
    module.end(start, start + 1000);
  }
  const auto course = recorder.course();
  ASSERT_EQ(course.threads.size(), 2U);
  EXPECT_EQ(course.threads[0].pieces[0], (Activity::Piece{120, 180, 600, 0}));
  EXPECT_EQ(course.threads[1].name, "reads ahead");
  EXPECT_EQ(course.threads[1].pieces[0], (Activity::Piece{30, 20, 0, 0}));
}

TEST(RecorderTest, costs_of_columns_and_of_what_they_have_in_common_are_apart) {
  Recorder recorder{2, 10};
  InputCosts costs{{1, 100, 5, 80, 200, 7}, {2, 50, 3, 40, 60, 2}, 9};
  recorder.note_input(1, costs);
  recorder.note_input(1, costs);
  recorder.note_loading(call_of(recorder.loading(), 0, 30), {{1, 10, 1, 0, 0, 0}, {}, 0});
  const auto column = recorder.statistics()[1];
  EXPECT_EQ(column.input.read_bytes, 200);
  EXPECT_EQ(column.input.unpack_ns, 14);
  EXPECT_EQ(column.shared_ns, 18);
  const auto loading = recorder.loading_statistics();
  EXPECT_EQ(loading.n_calls, 1U);
  EXPECT_EQ(loading.input.read_bytes, 110);
  EXPECT_EQ(loading.total_ns, 48);
  ASSERT_EQ(recorder.trace().size(), 1U);
  EXPECT_EQ(recorder.trace()[0].call.node, recorder.loading());
  EXPECT_EQ(recorder.n_not_traced(), 0U);
}

TEST(RecorderTest, what_is_measured_within_something_else_is_no_part_of_it) {
  InputCosts::of_this_thread() = {};
  const MeasuredInput outer;
  InputCosts::of_this_thread().own.read_bytes = 5;
  {
    const MeasuredInput inner;
    {
      const ReadingNote note{100};
    }
    {
      const ForAllColumns all;
      const UnpackingNote note{10, 30};
    }
    EXPECT_EQ(inner.costs().own.read_bytes, 100);
    EXPECT_EQ(inner.costs().own.unpacked_bytes, 0);
    EXPECT_EQ(inner.costs().common.unpacked_bytes, 30);
  }
  EXPECT_EQ(outer.costs().own.read_bytes, 5);
  EXPECT_EQ(outer.costs().common.unpacked_bytes, 0);
}

TEST(RecorderTest, bins_hold_the_times_from_their_start_to_the_next) {
  for (const std::int64_t time_ns : {0, 7, 8, 9, 15, 16, 17, 100, 12345, 1'000'000'007}) {
    const auto bin = Recorder::bin_of(time_ns);
    const auto at_least = static_cast<double>(std::max<std::int64_t>(time_ns, 8));
    EXPECT_LE(Recorder::bin_start_ns(bin), at_least);
    EXPECT_GT(Recorder::bin_start_ns(bin + 1), at_least);
  }
  EXPECT_EQ(Recorder::bin_of(std::int64_t{1} << 62), Recorder::n_bins - 1);
}

}  // namespace
}  // namespace forkrun
