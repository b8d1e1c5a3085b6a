#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/histograms/histogram_of.hpp>

namespace forkrun {
namespace {

using Values = std::vector<double>;

Values values_of(Histogram& histogram) {
  const auto values = histogram.values();
  return {values.begin(), values.end()};
}

Values sums_of(Histogram& histogram) { return histogram.parts().front().sums.rounded(); }

const double infinite = std::numeric_limits<double>::infinity();

TEST(HistogramTest, values_go_to_half_open_bins_and_flow_bins) {
  HistogramOf histogram{"pt", "", RegularAxis{2, 0, 10}};
  for (const double x : {-1.0, -infinite, 0.0, 4.999, 5.0, 10.0, 11.0, infinite, std::nan("")}) {
    histogram.fill(x);
  }
  EXPECT_EQ(values_of(histogram), (Values{2, 2, 1, 4}));
}

TEST(HistogramTest, weights_and_their_squares_are_summed) {
  HistogramOf histogram{"pt", "", RegularAxis{1, 0, 1}};
  histogram.fill(0.5, 2);
  histogram.fill(0.5, -3);
  histogram.fill(0.5);
  EXPECT_EQ(sums_of(histogram), (Values{0, 0, 0, 0, 14, 0}));
  histogram.clear();
  EXPECT_EQ(sums_of(histogram), Values(6));
}

TEST(HistogramTest, the_first_axis_runs_fastest) {
  HistogramOf histogram{"map", "", RegularAxis{2, 0, 2}, RegularAxis{3, 0, 3}};
  histogram.fill(1.5, 0.5);
  histogram.Histogram::fill(std::vector<double>{1.5, 0.5});
  EXPECT_EQ(values_of(histogram).size(), 20U);
  EXPECT_EQ(values_of(histogram)[1 * 4 + 2], 2);
}

TEST(HistogramTest, an_axis_without_flow_bins_leaves_out_what_is_outside) {
  HistogramOf histogram{"h", "",
                        RegularAxis{2, 0, 2, "x", {.underflow = false, .overflow = false}}};
  for (const double x : {-0.1, 0.0, 1.0, 2.0, 2.1}) {
    histogram.fill(x, 0.5);
  }
  EXPECT_EQ(values_of(histogram), (Values{0.5, 1}));  // the upper edge is in the last bin
}

TEST(HistogramTest, a_circular_axis_goes_round) {
  HistogramOf histogram{"h", "", RegularAxis{4, 0, 4, "phi", {.circular = true}}};
  for (const double x : {-1.0, 3.5, 7.9, 4.0, std::nan("")}) {
    histogram.fill(x);
  }
  EXPECT_EQ(values_of(histogram), (Values{1, 0, 0, 3, 1}));
  EXPECT_EQ((IntegerAxis{2, 5, "n", {.circular = true}}.index(-1)), 0);
  EXPECT_EQ((VariableAxis{{0, 1, 3}, "x", {.circular = true}}.index(-0.5)), 1);
}

TEST(HistogramTest, values_are_between_the_edges_of_variable_bins) {
  for (std::uint32_t n_bins = 1; n_bins < 40; ++n_bins) {
    std::vector<double> edges;
    std::vector<double> x{std::nan(""), -INFINITY, INFINITY};
    for (std::uint32_t i = 0; i <= n_bins; ++i) {
      edges.push_back(std::pow(i, 1.5) - 2);
      for (const double value : {edges[i], std::nextafter(edges[i], -1e9), edges[i] + 0.3}) {
        x.push_back(value);
      }
    }
    for (const bool has_overflow : {true, false}) {
      const VariableAxis axis{edges, "", {.overflow = has_overflow}};
      std::vector<std::uint32_t> counts(n_bins + 1 + (has_overflow ? 1 : 0));
      std::vector<std::uint32_t> expected(n_bins + 2);
      const auto of_fill = axis.with(x.data());
      count_entries(counts, {&of_fill, 1}, x.size());
      for (const double value : x) {
        ++expected[static_cast<std::size_t>(axis.index(value) + 1)];
      }
      expected.resize(counts.size());
      EXPECT_EQ(counts, expected) << n_bins << " " << has_overflow;
    }
  }
}

TEST(HistogramTest, edges_of_variable_bins_and_integers_outside) {
  const VariableAxis edges{{0, 1, 10}};
  EXPECT_EQ(edges.index(-0.1), -1);
  EXPECT_EQ(edges.index(1), 1);
  EXPECT_EQ(edges.index(10), 2);
  EXPECT_EQ(edges.index(std::nan("")), 2);
  const IntegerAxis integers{-2, 3};
  EXPECT_EQ(integers.index(std::numeric_limits<std::int64_t>::min()), -1);
  EXPECT_EQ(integers.index(2), 4);
  EXPECT_EQ(integers.index(3), 5);
}

TEST(HistogramTest, categories_have_a_bin_for_others_unless_they_grow) {
  HistogramOf fixed{"fixed", "", TextAxis{{"e", "mu"}}};
  HistogramOf growing{"growing", "", NumberAxis{{7}, "id", Growth::growing}, RegularAxis{1, 0, 1}};
  for (const auto* const name : {"mu", "tau", "mu"}) {
    fixed.fill(name);
  }
  EXPECT_EQ(values_of(fixed), (Values{0, 2, 1}));
  growing.fill(7, 0.5, 0.25);
  growing.fill(3, 0.5, 2);
  growing.fill(3, 1.5);
  growing.fill(7, 0.5, 0.5);
  const auto part = growing.parts().front();
  EXPECT_EQ(part.axes[0].numbers, (Values{7, 3}));
  EXPECT_EQ(part.axes[0].n_declared, 1U);
  EXPECT_EQ(growing.parts().front().sums.rounded(),
            (Values{0, 0, 0.75, 2, 0, 1, 0, 0, 0.3125, 4, 0, 1}));
  growing.clear();
  EXPECT_EQ(growing.parts().front().axes[0].numbers, (Values{7}));
}

TEST(HistogramTest, profiles_sum_samples) {
  ProfileOf profile{"p", "", IntegerAxis{0, 1, "", {.underflow = false, .overflow = false}}};
  profile.fill(0, 3);
  profile.fill(0, 5, 2);
  EXPECT_EQ(sums_of(profile), (Values{3, 5, 13, 59}));
}

TEST(HistogramTest, columns_are_filled_as_entries_are) {
  HistogramOf columns{"h", "", RegularAxis{10, 0, 1}, TextAxis{{"a", "b"}}};
  HistogramOf entries{"h", "", RegularAxis{10, 0, 1}, TextAxis{{"a", "b"}}};
  std::vector<float> x;
  std::vector<std::string> names;
  Values weights;
  for (int i = 0; i < 5000; ++i) {
    x.push_back(static_cast<float>(i % 101) / 90);
    names.emplace_back(1, static_cast<char>('a' + i % 3));
    weights.push_back(std::sin(i));
    entries.fill(x.back(), names.back(), weights.back());
  }
  columns.fill_columns(x, names, weights);
  EXPECT_EQ(sums_of(columns), sums_of(entries));
  EXPECT_THROW(columns.fill_columns(x, names, Values(3)), Error);
}

TEST(HistogramTest, many_entries_without_flow_bins_are_filled_as_few_are) {
  const AxisOptions no_flow{.underflow = false, .overflow = false};
  HistogramOf many{"h", "", RegularAxis{10, 0, 1, "", no_flow},
                   VariableAxis{{0, 2, 3}, "", no_flow}};
  HistogramOf few{"h", "", RegularAxis{10, 0, 1, "", no_flow},
                  VariableAxis{{0, 2, 3}, "", no_flow}};
  for (int i = 0; i < 5000; ++i) {
    const double x = i % 130 / 100. - 0.1;
    const double weight = std::sin(i);
    many.fill(x, i % 7, weight);
    few.fill(x, i % 7, weight);
    EXPECT_EQ(few.parts().size(), 1U);  // brings what is pending
  }
  EXPECT_EQ(sums_of(many), sums_of(few));
  many.clear();
  EXPECT_EQ(sums_of(many), Values(40));
}

TEST(HistogramTest, a_matrix_of_weights_is_a_fill_for_each_variation) {
  const std::vector<std::string> names{"nominal", "up", "down"};
  HistogramOf matrix{"h", "", RegularAxis{10, 0, 1}, TextAxis{names}};
  HistogramOf each{"h", "", RegularAxis{10, 0, 1}, TextAxis{names}};
  Values x;
  Values weights;
  for (int i = 0; i < 100; ++i) {
    x.push_back(i * 0.011);
    for (const auto& name : names) {
      weights.push_back(std::sin(weights.size()));
      each.fill(x.back(), name, weights.back());
    }
  }
  matrix.fill_variations({weights, 3}, x);
  EXPECT_EQ(sums_of(matrix), sums_of(each));
  EXPECT_THROW(matrix.fill_variations({weights, 2}, x), Error);
  EXPECT_THROW(matrix.fill_variations({weights, 3}, Values(99)), Error);
  EXPECT_THROW(matrix.fill_variations({std::span{weights}.first(4), 3}, Values(1)), Error);
  HistogramOf plane{"h", "", RegularAxis{1, 0, 1}, RegularAxis{1, 0, 1}};
  EXPECT_THROW(plane.fill_variations({weights, 3}, x), Error);
}

TEST(HistogramTest, profiles_cannot_be_sparse) {
  HistogramOf histogram{"h", "", RegularAxis{1, 0, 1}};
  ProfileOf profile{"p", "", RegularAxis{1, 0, 1}};
  histogram.set_sparse();
  EXPECT_TRUE(histogram.is_sparse());
  EXPECT_THROW(profile.set_sparse(), Error);
}

std::string problem_of(const std::vector<double>& edges) {
  try {
    HistogramOf histogram{"h", "", VariableAxis{edges, "pt"}};
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(HistogramTest, impossible_axes_and_wrong_numbers_of_coordinates_are_errors) {
  EXPECT_EQ(problem_of({0, 1}), "none");
  EXPECT_EQ(problem_of({1, 1}),
            "histogram \"h\": axis 0 \"pt\" needs edges that increase, at least two");
  EXPECT_THROW((HistogramOf{"h", "", RegularAxis{0, 0, 1}}), Error);
  EXPECT_THROW((HistogramOf{"h", "", RegularAxis{1, 1, 1}}), Error);
  EXPECT_THROW((HistogramOf{"h", "", IntegerAxis{1, 1}}), Error);
  EXPECT_THROW((HistogramOf{"h", "", TextAxis{{"a", "a"}}}), Error);
  EXPECT_THROW((HistogramOf{"h", "", TextAxis{{}}}), Error);
  EXPECT_THROW((HistogramOf{"h", "", RegularAxis{40'000, 0, 1}, RegularAxis{40'000, 0, 1}}), Error);
  HistogramOf histogram{"h", "", RegularAxis{1, 0, 1}, RegularAxis{1, 0, 1}};
  EXPECT_THROW(histogram.Histogram::fill(1.0), Error);
}

}  // namespace
}  // namespace forkrun
