#include <forkrun/histograms/exact_sums.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

constexpr double greatest = std::numeric_limits<double>::max();
constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double infinity = std::numeric_limits<double>::infinity();

void add(ExactSums& sums, const std::vector<double>& values) {
  for (const double value : values) {
    sums.add(0, std::array{value});
  }
}

double sum_of(const std::vector<double>& values) {
  ExactSums sums{1, 1};
  add(sums, values);
  return sums.rounded()[0];
}

TEST(ExactSumsTest, sums_are_rounded_once) {
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({0.1, 0.2, 0.3, -0.6}), 2.7755575615628914e-17);
  EXPECT_EQ(sum_of({1e100, 1, -1e100}), 1);
  EXPECT_EQ(sum_of({greatest, greatest, -greatest, least, -greatest}), least);
  EXPECT_EQ(sum_of({greatest, greatest}), infinity);
  EXPECT_EQ(sum_of({-greatest, -greatest}), -infinity);
  EXPECT_EQ(sum_of({0.0, -0.0}), 0);
}

TEST(ExactSumsTest, ties_go_to_even_unless_something_small_decides) {
  const double half_ulp = std::ldexp(1, -53);
  EXPECT_EQ(sum_of({1, half_ulp}), 1);
  EXPECT_EQ(sum_of({1, half_ulp, least}), 1 + 2 * half_ulp);
  EXPECT_EQ(sum_of({1, half_ulp, -least}), 1);
  EXPECT_EQ(sum_of({1, 2 * half_ulp, half_ulp}), 1 + 4 * half_ulp);
  EXPECT_EQ(sum_of({-1, -half_ulp, -least}), -1 - 2 * half_ulp);
}

TEST(ExactSumsTest, denormal_numbers_are_exact) {
  const double small = std::numeric_limits<double>::min();
  EXPECT_EQ(sum_of({least, least, least}), 3 * least);
  EXPECT_EQ(sum_of({small, -least}), small - least);
  EXPECT_EQ(sum_of({-small, least, 1, -1}), least - small);
}

TEST(ExactSumsTest, carries_and_borrows_go_through_all_words) {
  EXPECT_EQ(sum_of({std::ldexp(1, 120), -1, 1, std::ldexp(-1, 120), 3}), 3);
  EXPECT_EQ(sum_of({std::ldexp(1, 900), -least, std::ldexp(-1, 900)}), -least);
}

TEST(ExactSumsTest, the_order_of_values_does_not_matter) {
  std::mt19937_64 random{1};
  std::uniform_int_distribution<int> exponents{-300, 300};
  std::normal_distribution<double> mantissas;
  std::vector<double> values(2000);
  for (auto& value : values) {
    value = std::ldexp(mantissas(random), exponents(random));
  }
  const double sum = sum_of(values);
  for (int n = 0; n < 5; ++n) {
    std::ranges::shuffle(values, random);
    EXPECT_EQ(sum_of(values), sum);
  }
}

TEST(ExactSumsTest, batches_and_merges_give_what_single_values_do) {
  std::mt19937_64 random{2};
  std::uniform_int_distribution<std::uint32_t> cell{0, 9};
  for (const int spread : {2, 20, 200}) {
    std::uniform_int_distribution<int> exponents{-spread, spread};
    std::normal_distribution<double> mantissas;
    ExactSums singly{2, 10};
    ExactSums merged{2, 10};
    for (int n = 0; n < 20; ++n) {
      ExactSums part{2, 10};
      std::vector<std::uint32_t> cells(50);
      std::vector<double> w(50);
      std::vector<double> y(50);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        cells[i] = cell(random);
        w[i] = std::ldexp(mantissas(random), exponents(random));
        y[i] = w[i] * w[i];
        singly.add(cells[i], std::array{w[i], y[i]});
      }
      part.add(cells, std::array<const double*, 2>{w.data(), y.data()});
      merged.merge(n % 2 == 0 ? part : ExactSums::unpacked(part.packed(), 2, 10));
    }
    EXPECT_EQ(singly.rounded(), merged.rounded());
    EXPECT_EQ(singly.packed(), merged.packed());
    EXPECT_EQ(ExactSums::unpacked(singly.packed(), 2, 10).rounded(), singly.rounded());
  }
}

/// Values of `n` entries, with signs; magnitudes within a factor 2^`n_binades`, and zeros.
std::vector<double> random_values(std::size_t n, int n_binades) {
  std::mt19937_64 random{7};
  std::uniform_real_distribution<double> fraction{-1, 1};
  std::uniform_int_distribution<int> exponent{-n_binades, 0};
  std::vector<double> values(n);
  std::ranges::generate(values, [&] { return std::ldexp(fraction(random), exponent(random)); });
  values[n / 2] = 0;
  return values;
}

struct Batch {
  std::size_t n_sums;
  std::size_t n_cells;
  std::size_t n_values;
  int n_binades;
};
class BatchTest : public testing::TestWithParam<Batch> {};

TEST_P(BatchTest, many_values_at_a_time_give_what_single_values_do) {
  const auto [n_sums, n_cells, n, n_binades] = GetParam();
  const auto values = random_values(n * n_sums, n_binades);
  std::vector<std::uint32_t> cells(n);
  std::vector<const double*> columns;
  for (std::size_t s = 0; s < n_sums; ++s) {
    columns.push_back(&values[s * n]);
  }
  ExactSums single{n_sums, n_cells};
  for (std::size_t i = 0; i < n; ++i) {
    cells[i] = static_cast<std::uint32_t>(i * i % n_cells);
    std::vector<double> entry(n_sums);
    std::ranges::transform(columns, entry.begin(), [&](const double* c) { return c[i]; });
    single.add(cells[i], entry);
  }
  ExactSums batch{n_sums, n_cells};
  batch.add(cells, columns);
  batch.add(cells, columns);
  single.merge(ExactSums{single});
  EXPECT_EQ(batch.packed(), single.packed());
}

// In doubles first, or not: too many cells, too few values, too far apart; odd numbers.
INSTANTIATE_TEST_SUITE_P(Batches, BatchTest,
                         testing::Values(Batch{2, 100, 5000, 4}, Batch{1, 7, 2048, 4},
                                         Batch{3, 100, 2049, 4}, Batch{4, 100, 4099, 4},
                                         Batch{2, 512, 2048, 4}, Batch{2, 513, 4099, 4},
                                         Batch{4, 20'000, 4099, 4}, Batch{2, 100, 399, 4},
                                         Batch{2, 100, 4099, 28}, Batch{2, 100, 4099, 40},
                                         Batch{2, 100, 4099, 200}, Batch{2, 1, 4097, 4},
                                         Batch{2, 1025, 8200, 4}, Batch{2, 100, 4096, 16}));

TEST(ExactSumsTest, values_of_ordinary_weights_take_two_words_and_others_more) {
  ExactSums sums{2, 1};
  for (const double weight : {0.3, 1.7, -1.0, 9.9}) {
    sums.add(0, std::array{weight, weight * weight});
  }
  EXPECT_EQ(sums.n_words(), 2U);
  sums.add(0, std::array{1e-300, 1e300});
  EXPECT_GT(sums.n_words(), 2U);
  sums.clear();
  EXPECT_EQ(sums.n_words(), 2U);
  EXPECT_EQ(sums.rounded(), (std::vector<double>{0, 0}));
}

TEST(ExactSumsTest, what_is_not_finite_is_kept_apart_and_counted) {
  const double nan = std::nan("");
  ExactSums sums{1, 5};
  const std::vector<std::uint32_t> cells{0, 1, 2, 2, 3, 4, 0};
  const std::vector<double> values{infinity, -infinity, infinity, -infinity, nan, 7, 1};
  sums.add(cells, std::array{values.data()});
  const auto read = ExactSums::unpacked(sums.packed(), 1, 5);
  for (const auto& each : {sums, read}) {
    const auto rounded = each.rounded();
    EXPECT_EQ(rounded[0], infinity);
    EXPECT_EQ(rounded[1], -infinity);
    EXPECT_TRUE(std::isnan(rounded[2]));
    EXPECT_TRUE(std::isnan(rounded[3]));
    EXPECT_EQ(rounded[4], 7);
    EXPECT_EQ(each.n_not_finite(), 5U);
  }
  sums.clear_cell(3);
  EXPECT_EQ(sums.rounded()[3], 0);
}

TEST(ExactSumsTest, what_is_not_finite_is_kept_apart_beside_the_largest_numbers) {
  for (const double value : {infinity, -infinity, std::nan("")}) {
    ExactSums sums{1, 1};
    add(sums, {greatest, value});
    EXPECT_EQ(sums.n_not_finite(), 1U);
    add(sums, {-infinity, -greatest, -greatest});
    EXPECT_EQ(sums.n_not_finite(), 2U);
    EXPECT_EQ(std::isnan(sums.rounded()[0]), value != -infinity);
  }
}

TEST(ExactSumsTest, sums_of_a_file_have_room_for_more) {
  for (const double sign : {1.0, -1.0}) {
    ExactSums sums{1, 1};  // 2^127 - 1, which takes two words to the last bit
    add(sums, {sign * std::ldexp(1, 127), -sign});
    auto read = ExactSums::unpacked(sums.packed(), 1, 1);
    EXPECT_EQ(read.n_words(), 2U);
    add(read, {sign * std::ldexp(1, 52)});
    EXPECT_EQ(read.rounded()[0], sign * std::ldexp(1, 127));
    add(read, {-sign * std::ldexp(1, 127), sign});
    EXPECT_EQ(read.rounded()[0], sign * std::ldexp(1, 52));
  }
}

TEST(ExactSumsTest, more_than_2_to_the_40_values_have_room_and_too_many_to_count_are_an_error) {
  ExactSums sums{2, 1};
  sums.add(0, std::array{1.0, -3.0});
  for (int n = 0; n < 63; ++n) {
    sums.merge(sums);
  }
  EXPECT_EQ(sums.rounded(), (std::vector<double>{std::ldexp(1, 63), std::ldexp(-3, 63)}));
  sums.add(0, std::array{-1.0, 1024.0});
  sums.add(0, std::array{std::ldexp(-1, 63), std::ldexp(3, 63)});
  EXPECT_EQ(sums.rounded(), (std::vector<double>{-1, 1024}));
  EXPECT_THROW(sums.merge(sums), Error);
  EXPECT_FALSE(sums.empty());
  EXPECT_EQ(sums.rounded(), (std::vector<double>{-1, 1024}));
}

TEST(ExactSumsTest, windows_that_move_keep_signs_and_bits) {
  std::mt19937_64 random{3};
  std::uniform_int_distribution<int> exponents{-1074, 1023};
  const std::vector<double> edges{least, -least, greatest, -greatest, 0.0, -0.0, 1, -1};
  for (int n = 0; n < 300; ++n) {
    std::vector<double> values(edges);
    for (int k = 0; k < 8; ++k) {
      values.push_back(std::ldexp(k % 2 == 0 ? 1 : -1, exponents(random)));
    }
    std::ranges::shuffle(values, random);
    ExactSums up{1, 2};
    ExactSums down{1, 2};
    ExactSums parts{1, 2};
    for (std::size_t k = 0; k < values.size(); ++k) {
      up.add(1, std::array{values[k]});
      down.add(1, std::array{-values[values.size() - 1 - k]});
      ExactSums part{1, 2};
      part.add(1, std::array{values[k]});
      parts.merge(k % 2 == 0 ? part : ExactSums::unpacked(part.packed(), 1, 2));
    }
    EXPECT_EQ(parts.packed(), up.packed());
    EXPECT_EQ(down.rounded()[1], -up.rounded()[1]);
    up.merge(down);
    EXPECT_EQ(up.packed(), ExactSums(1, 2).packed());
    EXPECT_FALSE(std::signbit(up.rounded()[1]));
  }
}

TEST(ExactSumsTest, cells_move_to_a_larger_table) {
  ExactSums sums{1, 3};
  sums.add(0, std::array{1.5});
  sums.add(2, std::array{infinity});
  sums.add(1, std::array{2.5});
  sums.move_cells(std::vector<std::uint32_t>{4, 0, 2}, 6);
  EXPECT_EQ(sums.rounded(), (std::vector<double>{2.5, 0, infinity, 0, 1.5, 0}));
  sums.add(5, std::array{1.0});
  EXPECT_EQ(sums.rounded(), (std::vector<double>{2.5, 0, infinity, 0, 1.5, 1}));
}

TEST(ExactSumsTest, cells_of_the_same_place_are_added_without_rounding) {
  ExactSums sums{1, 40};
  ExactSums direct{1, 3};
  std::vector<std::uint32_t> places;
  for (std::size_t cell = 0; cell < 40; ++cell) {
    places.push_back(static_cast<std::uint32_t>(cell % 3));
    const double value = std::ldexp(cell % 2 == 0 ? 0.1 : -0.7, static_cast<int>(cell) * 3 - 60);
    for (int n = 0; n < 5; ++n) {
      sums.add(cell, std::array{value});
      direct.add(cell % 3, std::array{value});
    }
  }
  sums.add(7, std::array{infinity});
  sums.add(10, std::array{-infinity});
  direct.add(1, std::array{infinity});
  direct.add(1, std::array{-infinity});
  auto read = ExactSums::unpacked(sums.packed(), 1, 40);  // knows the bits in use alone
  for (ExactSums* each : {&sums, &read}) {
    each->move_cells(places, 3);
    EXPECT_EQ(each->packed(), direct.packed());
  }
}

TEST(ExactSumsTest, few_filled_cells_take_few_words_in_a_file) {
  ExactSums sums{2, 1'000'000};
  EXPECT_EQ(sums.packed().size(), 8U);
  sums.add(999'999, std::array{1.0, 1.0});
  EXPECT_EQ(sums.packed().size(), 11U);
  const auto read = ExactSums::unpacked(sums.packed(), 2, 1'000'000);
  EXPECT_EQ(read.rounded()[999'999], 1);
}

TEST(ExactSumsTest, any_changed_word_is_an_error_or_another_number) {
  ExactSums sums{2, 4};
  sums.add(1, std::array{0.1, 1e200});
  sums.add(3, std::array{-0.3, infinity});
  const auto packed = sums.packed();
  for (std::size_t k = 0; k < packed.size(); ++k) {
    for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{39},
                                     std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
      auto changed = packed;
      changed[k] = word;
      try {
        auto read = ExactSums::unpacked(changed, 2, 4);
        read.merge(sums);
        EXPECT_EQ(read.rounded().size(), 8U);
      } catch (const Error&) {
      }
    }
    EXPECT_THROW(static_cast<void>(ExactSums::unpacked(std::span{packed}.first(k), 2, 4)), Error);
  }
}

TEST(ExactSumsTest, sums_of_nothing_but_zeros_are_merged_with_those_far_away) {
  ExactSums far{2, 3};
  ExactSums zeros{2, 3};
  far.add(1, std::array{1e300, 1.0});
  zeros.add(1, std::array{0.0, 2.0});
  for (auto* const sums : {&far, &zeros}) {
    ExactSums merged{*sums};
    merged.merge(sums == &far ? zeros : far);
    EXPECT_EQ(merged.rounded(), (std::vector<double>{0, 1e300, 0, 0, 3, 0}));
  }
}

}  // namespace
}  // namespace forkrun
