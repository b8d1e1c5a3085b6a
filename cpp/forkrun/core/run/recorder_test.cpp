#include <forkrun/core/run/recorder.hpp>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace forkrun {

namespace {

constexpr std::int64_t length_ns = 1 << Activity::first_length_bits;
constexpr auto processing = static_cast<std::size_t>(Activity::Kind::processing);
constexpr auto reading = static_cast<std::size_t>(Activity::Kind::reading);

TEST(ActivityTest, time_is_put_into_the_pieces_in_which_it_was_spent) {
  Activity activity{1000};
  activity.add(Activity::Kind::processing, 1000 + length_ns / 2, 1000 + 2 * length_ns + 5);
  const auto pieces = activity.pieces(activity.length_bits());
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0][processing], length_ns / 2);
  EXPECT_EQ(pieces[1][processing], length_ns);
  EXPECT_EQ(pieces[2][processing], 5);
  EXPECT_EQ(pieces[1][reading], 0);
}

TEST(ActivityTest, what_is_done_within_something_else_counts_once) {
  Activity activity{0};
  activity.add(Activity::Kind::reading, 100, 300);
  activity.take_away(Activity::Kind::processing, 100, 300);
  activity.add(Activity::Kind::processing, 0, 1000);
  EXPECT_EQ(activity.pieces(activity.length_bits())[0], (Activity::Piece{200, 0, 800, 0}));
}

TEST(ActivityTest, pieces_grow_with_the_life_of_the_process_and_lose_nothing) {
  Activity activity{0};
  constexpr std::int64_t n = 100'000;
  for (std::int64_t i = 0; i < n; ++i) {
    activity.add(Activity::Kind::committing, i * length_ns + 10, i * length_ns + 17);
  }
  EXPECT_EQ(activity.length_bits(), Activity::first_length_bits + 7);
  const auto pieces = activity.pieces(activity.length_bits() + 1);
  EXPECT_EQ(pieces.size(), 391U);
  const auto sum = std::accumulate(
      pieces.begin(), pieces.end(), std::int64_t{0}, [](auto all, const auto& piece) {
        return all + piece[static_cast<std::size_t>(Activity::Kind::committing)];
      });
  EXPECT_EQ(sum, 7 * n);
  EXPECT_EQ(pieces[0][static_cast<std::size_t>(Activity::Kind::committing)], 7 * 256);
}

TEST(ActivityTest, what_ended_before_it_began_to_note_is_left_out) {
  Activity activity{1000};
  activity.add(Activity::Kind::reading, 0, 900);
  activity.add(Activity::Kind::reading, 900, 1010);
  EXPECT_EQ(activity.pieces(activity.length_bits())[0][reading], 10);
}

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
