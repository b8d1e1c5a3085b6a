#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/histograms/histogram_of.hpp>

namespace forkrun {
namespace {

constexpr int n_fills = 20'000;

/// Fills entry `i` of what all threads together fill: histograms, or their fillers.
void fill_entry(auto& plane, auto& categories, auto& profile, int i) {
  const double x = std::fmod(i * 0.618, 1.1);
  const double y = std::fmod(i * 0.414, 1.0);
  const double weight = i % 5 == 0 ? 1.0 : std::sin(i) * std::pow(10, i % 40 - 20);
  plane.fill(x, y, weight);
  plane.fill(y, x);
  categories.fill(i % 17, weight);
  profile.fill(x, y, weight);
}

enum class Way { one_by_one, fillers };

/// Sums of three histograms, after `n_threads` have filled them.
std::vector<std::vector<double>> filled_by(std::size_t n_threads, HistogramMemory memory,
                                           Way way = Way::one_by_one) {
  HistogramOf plane{"plane", "", RegularAxis{100, 0, 1}, RegularAxis{90, 0, 1}};
  HistogramOf categories{"categories", "", NumberAxis{{3}, "", Growth::growing}};
  ProfileOf profile{"profile", "", RegularAxis{300, 0, 1}};
  for (Histogram* const histogram : std::initializer_list<Histogram*>{&plane, &profile}) {
    histogram->set_memory(memory);
    if (n_threads > 1) {
      histogram->share(n_threads);
    }
  }
  if (n_threads > 1) {
    categories.share(n_threads);
  }
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < n_threads; ++t) {
    threads.emplace_back([&, t] {
      const auto fill_from = [&](int first, int last, auto& a, auto& b, auto& c) {
        for (int i = first + static_cast<int>(t); i < last; i += static_cast<int>(n_threads)) {
          fill_entry(a, b, c, i);
        }
      };
      if (way == Way::one_by_one) {
        return fill_from(0, n_fills, plane, categories, profile);
      }
      const int n_first = n_fills / 3 / static_cast<int>(n_threads) * static_cast<int>(n_threads);
      for (const auto& [first, last] : {std::pair{0, n_first}, {n_first, n_fills}}) {
        auto of_plane = plane.filler();
        auto of_categories = categories.filler();
        auto of_profile = profile.filler();
        fill_from(first, last, of_plane, of_categories, of_profile);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  std::vector<double> by_category(17 * 2);  // threads meet them in different orders
  ExactSums all{2, 17};
  for (const auto& [axes, sums] : categories.parts()) {
    ExactSums moved{sums};
    std::vector<std::uint32_t> places(axes[0].numbers.begin(), axes[0].numbers.end());
    moved.move_cells(places, 17);
    all.merge(moved);
  }
  return {plane.parts()[0].sums.rounded(), profile.parts()[0].sums.rounded(), all.rounded()};
}

TEST(HistogramMemoryTest, what_was_taken_stays_as_it_was_while_more_is_filled) {
  for (const auto memory : {HistogramMemory::buffered, HistogramMemory::copy}) {
    HistogramOf histogram{"h", "", RegularAxis{200, 0, 1}};
    histogram.set_memory(memory);
    histogram.share(2);
    const auto fill = [&] {
      histogram.fill(0.5);
      histogram.fill(0.5, 0.25);
    };
    fill();
    const auto taken = histogram.parts();
    fill();
    EXPECT_EQ(taken[0].sums.rounded()[101], 1.25);
    EXPECT_EQ(histogram.values()[101], 2.5);
    histogram.clear();
    fill();
    EXPECT_EQ(histogram.values()[101], 1.25);
    EXPECT_EQ(taken[0].sums.rounded()[101], 1.25);
  }
}

TEST(HistogramMemoryTest, weights_that_are_not_finite_spoil_their_own_bins_only) {
  HistogramOf histogram{"h", "", RegularAxis{200, 0, 1}};
  histogram.set_memory(HistogramMemory::buffered);
  histogram.share(2);
  histogram.fill(0.25, 2);
  histogram.fill(0.5, INFINITY);
  histogram.fill(0.25, 3);
  EXPECT_EQ(histogram.values()[51], 5);
  EXPECT_EQ(histogram.values()[101], INFINITY);
}

class ThreadsTest : public testing::TestWithParam<std::tuple<std::size_t, HistogramMemory>> {};

TEST_P(ThreadsTest, sums_are_those_of_one_thread_to_the_last_bit) {
  const auto [n_threads, memory] = GetParam();
  static const auto expected = filled_by(1, HistogramMemory::automatic);
  EXPECT_EQ(filled_by(n_threads, memory), expected);
  EXPECT_EQ(filled_by(n_threads, memory, Way::fillers), expected);
  EXPECT_GT(expected[0].size(), 9000U);
}

TEST(FillerTest, what_was_filled_before_stays_and_columns_go_through_one) {
  HistogramOf histogram{"h", "", RegularAxis{10, 0, 1}};
  histogram.fill(0.55);
  histogram.fill(0.55, 0.5);
  {
    auto fills = histogram.filler();
    fills.fill(0.55);
    fills.fill(0.55, 0.25);
  }
  histogram.fill(0.55, 2.0);
  histogram.fill_columns(std::vector{0.55, 0.65}, std::vector{4.0, 8.0});
  EXPECT_EQ(histogram.values()[6], 1 + 0.5 + 1 + 0.25 + 2 + 4);
  EXPECT_EQ(histogram.values()[7], 8);
}

TEST(FillerTest, nothing_else_in_the_thread_fills_reads_or_clears_beside_it) {
  for (const auto memory : {HistogramMemory::automatic, HistogramMemory::buffered}) {
    HistogramOf histogram{"h", "", RegularAxis{2000, 0, 1}};
    if (memory != HistogramMemory::automatic) {
      histogram.set_memory(memory);
      histogram.share(2);
    }
    {
      auto fills = histogram.filler();
      fills.fill(0.5, 2.0);
      fills.fill(0.5);
      for (int i = 0; i < 5000; ++i) {  // more than there is memory for
        EXPECT_THROW(histogram.fill(0.1), Error);
        EXPECT_THROW(histogram.fill(0.1, 0.5), Error);
      }
      EXPECT_THROW(static_cast<void>(histogram.filler()), Error);
      EXPECT_THROW(static_cast<void>(histogram.parts()), Error);
      EXPECT_THROW(histogram.clear(), Error);
      fills.fill(0.5, 3.0);
    }
    EXPECT_EQ(histogram.values()[1001], 6);
    EXPECT_EQ(histogram.values()[201], 0);
    histogram.clear();
    histogram.fill(0.5);
    EXPECT_EQ(histogram.values()[1001], 1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Threads, ThreadsTest,
    testing::Combine(testing::Values(2, 4, 7),
                     testing::Values(HistogramMemory::automatic, HistogramMemory::copy,
                                     HistogramMemory::shared, HistogramMemory::buffered)));

HistogramMemory chosen(std::uint32_t n_bins, std::size_t n_threads) {
  HistogramOf histogram{"h", "", RegularAxis{n_bins, 0, 1}};
  histogram.share(n_threads);
  return histogram.memory();
}

TEST(HistogramMemoryTest, small_tables_are_copied_and_large_ones_shared) {
  EXPECT_EQ(chosen(100, 16), HistogramMemory::copy);
  EXPECT_EQ(chosen(1'000'000, 2), HistogramMemory::buffered);
  HistogramOf growing{"h", "", TextAxis{{}, "", Growth::growing}};
  growing.set_memory(HistogramMemory::buffered);
  growing.share(2);
  EXPECT_EQ(growing.memory(), HistogramMemory::copy);
}

TEST(ThreadNumberTest, numbers_of_threads_that_ended_are_given_again) {
  std::set<std::size_t> numbers;
  for (int i = 0; i < 10; ++i) {
    std::thread{[&] { numbers.insert(thread_number()); }}.join();
  }
  EXPECT_EQ(numbers.size(), 1U);
}

}  // namespace
}  // namespace forkrun
