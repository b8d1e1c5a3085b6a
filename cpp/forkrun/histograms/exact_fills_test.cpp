#include <forkrun/histograms/exact_fills.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace forkrun {
namespace {

void fill_sums(ExactSums& sums, Moments moments, std::span<const FillAxis> axes, FillColumn weights,
               FillColumn samples, std::size_t n_entries) {
  find_fills(axes, weights, has_samples(moments) ? std::optional{samples} : std::nullopt, n_entries,
             [&](const CellFills& fills) { add_moments(sums, moments, fills); });
}

TEST(ExactFillsTest, cells_and_moments_of_a_profile) {
  const std::vector<double> x{-1, 0, 4.9, 5, 10, std::nan("")};
  const std::vector<double> w{1, 2, 3, 4, 5, 6};
  const double y = 2;
  ExactSums sums{4, 4};
  const FillAxis axis{.n_bins = 2,
                      .has_underflow = true,
                      .has_overflow = true,
                      .coordinates = x.data(),
                      .low = 0,
                      .width = 10};
  fill_sums(sums, Moments::weighted_means, {&axis, 1}, {w.data(), false}, {&y, true}, x.size());
  EXPECT_EQ(sums.rounded(), (std::vector<double>{1, 5, 4, 11, 1, 13, 16, 61,  //
                                                 2, 10, 8, 22, 4, 20, 16, 44}));
}

TEST(ExactFillsTest, entries_outside_of_axes_without_flow_bins_are_left_out) {
  const std::vector<double> x{-1, 0, 1, 2, 3};
  const std::vector<std::int32_t> bins{0, 1, 2, 0, -1};
  const double w = 0.5;
  ExactSums sums{2, 4};
  const std::vector<FillAxis> axes{
      {.n_bins = 2, .coordinates = x.data(), .low = 0, .width = 2},
      {.n_bins = 2, .bins = bins.data()},
  };
  fill_sums(sums, Moments::weights, axes, {&w, true}, {}, x.size());
  // (0, 1) is in cell 2; (1, 2) is outside; (2, 0) is at the upper edge, in cell 1
  EXPECT_EQ(sums.rounded(), (std::vector<double>{0, 0.5, 0.5, 0, 0, 0.25, 0.25, 0}));
}

TEST(ExactFillsTest, coordinates_that_are_nan_are_counted) {
  const double nan = std::nan("");
  const std::vector<double> x{nan, 0, 1, 2, nan};
  const std::vector<float> y{0, 1, 2, static_cast<float>(nan), 3};
  const std::vector<std::int32_t> bins{0, 1, 2, 0, -1};
  const std::vector<FillAxis> axes{{.coordinates = x.data()},
                                   {.floats = y.data()},
                                   {.bins = bins.data()},
                                   {.coordinates = &nan, .is_one = true}};
  EXPECT_EQ(count_nan(axes, 5), 8);
  EXPECT_EQ(count_nan({axes.data() + 2, 1}, 5), 0);
}

/// The arithmetic of boost-histogram, of one value.
std::int32_t bin_of(double x, double low, double width, std::uint32_t n_bins, bool has_overflow) {
  const double z = (x - low) / width;
  if (z < 1) {
    return z >= 0 ? static_cast<std::int32_t>(z * n_bins) : -1;
  }
  return static_cast<std::int32_t>(z == 1 && !has_overflow ? n_bins - 1 : n_bins);
}

TEST(ExactFillsTest, values_of_every_number_and_width_are_in_the_bins_of_the_quotient) {
  constexpr std::uint32_t n_bins = 7;
  for (const double width : {1.0, 0.25, 64.0, 3.0, 0.1, 0x1p-1074, 0x1p1023}) {
    for (const bool has_overflow : {true, false}) {
      for (const std::size_t n : {1U, 3U, 4U, 9U, 1000U}) {
        std::vector<double> x{0.5, 0.5 + width, std::nan(""), -INFINITY, INFINITY};
        for (int i = 0; x.size() < n; ++i) {
          x.push_back(0.5 + width * (i % 1000 - 50) / 900);
        }
        x.resize(n);
        const FillAxis axis{.n_bins = n_bins,
                            .has_underflow = true,
                            .has_overflow = has_overflow,
                            .coordinates = x.data(),
                            .low = 0.5,
                            .width = width};
        std::vector<std::uint32_t> counts(n_bins + 2);
        std::vector<std::uint32_t> expected(n_bins + 2);
        count_entries(std::span{counts}.first(n_bins + 1 + has_overflow), {&axis, 1}, n);
        for (const double value : x) {
          const auto bin = bin_of(value, 0.5, width, n_bins, has_overflow) + 1;
          expected[static_cast<std::size_t>(bin)] += bin <= 7 + has_overflow ? 1 : 0;
        }
        EXPECT_EQ(counts, expected) << width << " " << has_overflow << " " << n;
      }
    }
  }
}

TEST(ExactFillsTest, many_entries_are_added_as_few_are) {
  std::vector<double> x(5000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i % 100) / 100;
  }
  const double w = 0.1;
  ExactSums sums{1, 100};
  const FillAxis axis{.n_bins = 100, .coordinates = x.data(), .low = 0, .width = 1};
  fill_sums(sums, Moments::counts, {&axis, 1}, {&w, true}, {}, x.size());
  ExactSums expected{1, 1};
  for (int n = 0; n < 50; ++n) {
    expected.add(0, std::span{&w, 1});
  }
  EXPECT_EQ(sums.rounded()[50], expected.rounded()[0]);
}

}  // namespace
}  // namespace forkrun
