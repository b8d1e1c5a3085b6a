#include <forkrun/histograms/moments.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <span>
#include <tuple>
#include <vector>

namespace forkrun {
namespace {

/// Entries whose weights and samples spread over `n_decades` below 10, of either sign. One of
/// `one_small_in` is that much smaller still.
struct Entries {
  Entries(std::size_t n, std::uint32_t n_cells, double n_decades, unsigned one_small_in) {
    std::mt19937_64 random{n};
    std::uniform_real_distribution<double> flat{-1, 1};
    const auto number = [&] {
      const double exponent = n_decades * (flat(random) - 1) / 2;
      const bool is_small = random() % one_small_in == 0;
      return flat(random) * std::pow(10, 1 + exponent - (is_small ? 25 : 0));
    };
    for (std::size_t i = 0; i < n; ++i) {
      cells.push_back(static_cast<std::uint32_t>(random() % n_cells));
      weights.push_back(random() % 17 == 0 ? 0 : number());
      samples.push_back(random() % 19 == 0 ? 0 : number());
    }
  }

  std::vector<std::uint32_t> cells;
  std::vector<double> weights;
  std::vector<double> samples;
};

std::vector<double> products_of_entry(Moments moments, double w, double y) {
  const double wy = w * y;
  switch (moments) {
    case Moments::counts: return {w};
    case Moments::weights: return {w, w * w};
    case Moments::means: return {w, wy, wy * y};
    default: return {w, w * w, wy, wy * y};
  }
}

using Case = std::tuple<Moments, std::size_t, double, unsigned>;
class MomentsTest : public testing::TestWithParam<Case> {};

TEST_P(MomentsTest, many_entries_at_a_time_give_the_sums_of_single_ones) {
  const auto [moments, n, n_decades, one_small_in] = GetParam();
  constexpr std::uint32_t n_cells = 300;
  const Entries entries{n, n_cells, n_decades, one_small_in};
  ExactSums many{n_sums_of(moments), n_cells};
  ExactSums single{n_sums_of(moments), n_cells};
  add_moments(many, moments,
              {entries.cells, entries.weights.data(),
               has_samples(moments) ? entries.samples.data() : nullptr});
  for (std::size_t i = 0; i < n; ++i) {
    single.add(entries.cells[i],
               products_of_entry(moments, entries.weights[i], entries.samples[i]));
  }
  EXPECT_EQ(many.rounded(), single.rounded());
  EXPECT_EQ(many.packed(), single.packed());
}

INSTANTIATE_TEST_SUITE_P(Moments, MomentsTest,
                         testing::Combine(testing::Values(Moments::counts, Moments::weights,
                                                          Moments::means, Moments::weighted_means),
                                          testing::Values(7, 1203, 4096, 10'001),
                                          testing::Values(0, 3, 12, 300),
                                          testing::Values(2, 500, 1'000'000)));

TEST(MomentsTest, ordinary_weights_take_two_words_and_samples_near_0_three) {
  constexpr std::size_t n = 4096;
  const std::vector<std::uint32_t> cells(n);
  std::vector<double> weights(n, 0.1);
  std::vector<double> samples(n, 0.3);
  ExactSums sums{4, 1};
  add_moments(sums, Moments::weighted_means, {cells, weights.data(), samples.data()});
  EXPECT_EQ(sums.n_words(), 2U);
  samples[7] = 1e-15;
  add_moments(sums, Moments::weighted_means, {cells, weights.data(), samples.data()});
  EXPECT_GE(sums.n_words(), 3U);
}

TEST(MomentsTest, the_largest_and_least_numbers_are_summed_as_they_are) {
  constexpr std::size_t n = 64;
  const std::vector<std::uint32_t> cells(n);
  for (const double weight : {1e300, 1e-300, 5e-324, 1.7e308, 0.0}) {
    const std::vector<double> weights(n, weight);
    const std::vector<double> samples(n, -1.5);
    ExactSums sums{4, 1};
    add_moments(sums, Moments::weighted_means, {cells, weights.data(), samples.data()});
    const auto product = [&](double value) { return n * value; };  // exact, or infinite
    const std::vector<double> expected{product(weight), product(weight * weight),
                                       product(weight * -1.5), product(weight * -1.5 * -1.5)};
    EXPECT_EQ(sums.rounded(), expected) << weight;
  }
}

}  // namespace
}  // namespace forkrun
