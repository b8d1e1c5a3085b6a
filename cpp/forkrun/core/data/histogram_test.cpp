#include <forkrun/core/data/histogram.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

std::vector<double> values_of(const Histogram& histogram) {
  return {histogram.values().begin(), histogram.values().end()};
}

TEST(HistogramTest, values_go_to_half_open_bins_and_flow_bins) {
  Histogram histogram{"pt", "", {{"pt", 2, 0, 10}}};
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {-1.0, -infinity, 0.0, 4.999, 5.0, 10.0, 11.0, infinity, std::nan("")}) {
    histogram.fill(x);
  }
  EXPECT_EQ(values_of(histogram), (std::vector<double>{2, 2, 1, 4}));
}

TEST(HistogramTest, weights_and_their_squares_are_summed) {
  Histogram histogram{"pt", "", {{"pt", 1, 0, 1}}};
  histogram.fill(0.5, 2);
  histogram.fill(0.5, -3);
  EXPECT_EQ(histogram.values()[1], -1);
  EXPECT_EQ(histogram.variances()[1], 13);
  histogram.clear();
  EXPECT_EQ(histogram.values()[1], 0);
  EXPECT_EQ(histogram.variances()[1], 0);
}

TEST(HistogramTest, cells_are_in_c_order) {
  Histogram histogram{"map", "", {{"x", 2, 0, 2}, {"y", 3, 0, 3}}};
  histogram.fill(std::vector<double>{1.5, 0.5});
  EXPECT_EQ(histogram.values().size(), 20U);
  EXPECT_EQ(histogram.values()[2 * 5 + 1], 1);
}

TEST(HistogramTest, impossible_axes_and_wrong_numbers_of_coordinates_are_errors) {
  EXPECT_THROW((Histogram{"h", "", {}}), Error);
  EXPECT_THROW((Histogram{"h", "", {{"x", 0, 0, 1}}}), Error);
  EXPECT_THROW((Histogram{"h", "", {{"x", 1, 1, 1}}}), Error);
  Histogram histogram{"h", "", {{"x", 1, 0, 1}, {"y", 1, 0, 1}}};
  EXPECT_THROW(histogram.fill(1.0), Error);
}

}  // namespace
}  // namespace forkrun
