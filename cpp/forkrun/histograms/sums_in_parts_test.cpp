#include <forkrun/histograms/sums_in_parts.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace forkrun {
namespace {

constexpr std::uint32_t n_cells = 300;

struct Fills {
  std::vector<std::uint32_t> cells;
  std::vector<double> weights;

  void push(std::uint32_t cell, double weight) {
    cells.push_back(cell);
    weights.push_back(weight);
  }
  [[nodiscard]] CellFills all() const { return {cells, weights.data()}; }
};

/// Of either sign, from 2^(high - n_binades) to below 2^high.
Fills random_fills(std::size_t n, int high, int n_binades) {
  std::mt19937_64 random{n};
  std::uniform_real_distribution<double> mantissa{0.5, 1};
  Fills fills;
  for (std::size_t i = 0; i < n; ++i) {
    const int exponent = high - static_cast<int>(random() % static_cast<unsigned>(n_binades));
    const double weight = std::ldexp(mantissa(random), exponent);
    fills.push(static_cast<std::uint32_t>(random() % n_cells),
               random() % 3 == 0 ? -weight : weight);
  }
  return fills;
}

void add_single(ExactSums& sums, const Fills& fills) {
  for (std::size_t i = 0; i < fills.cells.size(); ++i) {
    const double w = fills.weights[i];
    sums.add(fills.cells[i], std::array{w, w * w});
  }
}

/// The same fills added at a time, in stretches, and one by one.
class SumsInPartsTest : public testing::Test {
 protected:
  void add(const Fills& fills) {
    in_parts_.add(fills.all(), sums_);
    add_single(single_, fills);
  }
  /// Compares words, and so also what no double shows.
  void expect_same() {
    in_parts_.move_to(sums_);
    EXPECT_TRUE(in_parts_.empty());
    EXPECT_EQ(sums_.packed(), single_.packed());
    EXPECT_EQ(sums_.n_not_finite(), single_.n_not_finite());
    const auto rounded = sums_.rounded();
    const auto expected = single_.rounded();
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      EXPECT_TRUE(rounded[i] == expected[i] || (std::isnan(rounded[i]) && std::isnan(expected[i])));
    }
  }

  SumsInParts in_parts_{n_cells};
  ExactSums sums_{2, n_cells};
  ExactSums single_{2, n_cells};
};

TEST_F(SumsInPartsTest, many_fills_are_kept_apart_until_they_are_asked_for) {
  add(random_fills(5001, 3, 10));
  EXPECT_FALSE(in_parts_.empty());
  EXPECT_TRUE(sums_.empty());
  expect_same();
  EXPECT_EQ(sums_.n_words(), 2U);
}

TEST_F(SumsInPartsTest, few_fills_go_into_the_words_unless_there_are_parts_already) {
  add(random_fills(100, 3, 10));
  EXPECT_TRUE(in_parts_.empty());
  add(random_fills(1000, 3, 10));
  add(random_fills(3, 3, 10));
  EXPECT_FALSE(in_parts_.empty());
  expect_same();
}

TEST_F(SumsInPartsTest, weights_of_all_magnitudes_are_added) {
  for (const int n_binades : {1, 16, 17, 18, 40, 2000}) {
    for (const int high : {-1073, -1000, -400, -20, 0, 1, 64, 399, 401, 511, 1024}) {
      add(random_fills(4096, high, n_binades));
      expect_same();
    }
  }
}

TEST_F(SumsInPartsTest, weights_most_of_which_would_be_left_out_go_into_the_words) {
  add(random_fills(4096, 3, 20));
  EXPECT_FALSE(in_parts_.empty());
  expect_same();
  add(random_fills(4096, 3, 60));
  EXPECT_TRUE(in_parts_.empty());
  expect_same();
}

TEST_F(SumsInPartsTest, weights_that_become_greater_and_smaller_are_added) {
  for (const int high : {3, 4, 5, 12, 3, -15, -40, 80, 3, 1000, 3}) {
    add(random_fills(777, high, 9));
    add(random_fills(1203, high, 30));
  }
  expect_same();
}

TEST_F(SumsInPartsTest, what_was_added_to_another_is_taken_if_both_cut_weights_alike) {
  const Fills fills = random_fills(3000, 3, 10);
  add(fills);
  SumsInParts like{n_cells};
  SumsInParts greater{n_cells};
  ExactSums others{2, n_cells};
  like.add(fills.all(), others);
  greater.add(random_fills(3000, 5, 10).all(), others);
  EXPECT_TRUE(in_parts_.take(like));
  EXPECT_TRUE(like.empty());
  EXPECT_FALSE(in_parts_.take(like));
  EXPECT_FALSE(in_parts_.take(greater));
  EXPECT_FALSE(greater.empty());
  EXPECT_FALSE(like.take(in_parts_));  // it is empty now
  add_single(single_, fills);
  expect_same();
}

TEST_F(SumsInPartsTest, no_more_is_taken_than_parts_can_hold) {
  const Fills fills = random_fills((1 << 20) - 1001, 3, 10);
  add(fills);
  for (const std::size_t n : {1000U, 257U}) {  // the second would be too many
    const Fills some = random_fills(n, 3, 1);
    SumsInParts more{n_cells};
    ExactSums others{2, n_cells};
    more.add(some.all(), others);
    ASSERT_FALSE(more.empty());
    EXPECT_EQ(in_parts_.take(more), n == 1000);
    if (n == 1000) {
      add_single(single_, some);
    }
  }
  expect_same();
}

TEST_F(SumsInPartsTest, the_edges_of_what_fits_are_added) {
  Fills fills = random_fills(1000, 3, 2);
  for (int exponent = -20; exponent < 8; ++exponent) {
    const double power = std::ldexp(1, exponent);
    for (const double w : {power, std::nextafter(power, 0), std::nextafter(power, 1e9), -power}) {
      fills.push(7, w);
    }
  }
  add(fills);
  expect_same();
}

TEST_F(SumsInPartsTest, zeros_denormals_and_what_is_not_finite_are_added) {
  add(random_fills(1000, 3, 5));
  Fills special;
  for (const double w : {0.0, -0.0, std::numeric_limits<double>::denorm_min(), 1e-310, -1e-310,
                         std::numeric_limits<double>::infinity(), 1e308,
                         std::numeric_limits<double>::quiet_NaN(), 1.5}) {
    special.push(5, w);
    special.push(6, std::isfinite(w) ? w : -w);
  }
  add(special);
  add(random_fills(1000, 3, 5));
  expect_same();
  Fills zeros;
  zeros.cells.resize(1000);
  zeros.weights.resize(1000);
  add(zeros);
  expect_same();
}

/// Parts of the greatest possible size, in one cell, so often that they would not fit any more.
TEST_F(SumsInPartsTest, parts_are_brought_to_the_words_before_they_overflow) {
  const double greatest = std::nextafter(8.0, 0);
  for (const double w : {greatest, -greatest}) {
    Fills fills;
    for (std::size_t i = 0; i < most_moments; ++i) {
      fills.push(1, w);
    }
    const std::size_t n_times = (std::size_t{3} << 20) / most_moments;
    ExactSums expected{2, n_cells};
    SumsInParts in_parts{n_cells};
    ExactSums sums{2, n_cells};
    for (std::size_t k = 0; k < n_times; ++k) {
      in_parts.add(fills.all(), sums);
    }
    in_parts.move_to(sums);
    const auto n = static_cast<double>(n_times * most_moments);
    EXPECT_EQ(sums.rounded()[1], n * w);  // 3 * 2^20: two bits more than the value has
    EXPECT_EQ(sums.rounded()[n_cells + 1], n * (w * w));
    add_moments(expected, Moments::weights, fills.all());
    for (std::size_t k = 1; k < n_times; ++k) {
      const MomentColumns columns{Moments::weights, fills.all()};
      expected.add(fills.cells, columns.columns());
    }
    EXPECT_EQ(sums.packed(), expected.packed());
  }
}

TEST_F(SumsInPartsTest, threads_that_met_other_magnitudes_are_merged_in_two_words) {
  for (const int high : {2, 3, 4, 5}) {
    SumsInParts in_parts{n_cells};
    ExactSums sums{2, n_cells};
    const auto fills = random_fills(4096, high, 12);
    in_parts.add(fills.all(), sums);
    in_parts.move_to(sums);
    sums_.merge(sums);
    add_single(single_, fills);
  }
  expect_same();
  EXPECT_EQ(sums_.n_words(), 2U);
}

TEST_F(SumsInPartsTest, large_tables_are_left_to_the_words) {
  SumsInParts in_parts{SumsInParts::most_cells + 1};
  ExactSums sums{2, SumsInParts::most_cells + 1};
  in_parts.add(random_fills(4096, 3, 5).all(), sums);
  EXPECT_TRUE(in_parts.empty());
  EXPECT_FALSE(sums.empty());
}

TEST_F(SumsInPartsTest, what_was_cleared_is_forgotten) {
  add(random_fills(1000, 3, 5));
  in_parts_.clear();
  single_.clear();
  add(random_fills(1000, 9, 5));
  expect_same();
}

}  // namespace
}  // namespace forkrun
