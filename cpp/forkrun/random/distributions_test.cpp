#include <forkrun/random/distributions.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <forkrun/random/poisson.hpp>

namespace forkrun::random {

namespace {

constexpr auto all_ones = std::numeric_limits<std::uint64_t>::max();
constexpr auto half = std::uint64_t{1} << 63U;

/// The word whose upper 53 bits are those of u in [0, 1).
std::uint64_t word_of(double u) { return static_cast<std::uint64_t>(std::ldexp(u, 53)) << 11U; }

/// The probability that its normal value stands for.
double middle_of(std::uint64_t word) {
  return std::ldexp(static_cast<double>(word >> 11U) + 0.5, -53);
}

/// Cumulative probability of the standard normal distribution.
double probability_below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

TEST(Distributions, UniformValuesAreInTheirHalfOpenRange) {
  EXPECT_EQ(uniform_value(0, 0.0, 1.0), 0.0);
  EXPECT_EQ(uniform_value(half, 0.0, 1.0), 0.5);
  EXPECT_EQ(uniform_value(all_ones, 0.0, 1.0), 1.0 - 0x1p-53);
  EXPECT_EQ(uniform_value(half, -2.0, 4.0), 1.0);
  EXPECT_EQ(uniform_value(std::uint64_t{1} << 11U, 0.0, 1.0), 0x1p-53);
}

TEST(Distributions, NormalValuesAreSymmetric) {
  for (const double u : {0.0, 1e-12, 0.001, 0.0749, 0.0751, 0.3, 0.499}) {
    const auto word = word_of(u);
    EXPECT_EQ(normal_value(~word, 0.0, 1.0), -normal_value(word, 0.0, 1.0)) << u;
  }
  EXPECT_LT(std::abs(normal_value(half, 0.0, 1.0)), 1e-15);
}

TEST(Distributions, NormalValuesInvertTheDistribution) {
  for (int i = 1; i < 2000; ++i) {
    const auto word = word_of(i / 4000.0);
    EXPECT_NEAR(probability_below(normal_value(word, 0.0, 1.0)) / middle_of(word), 1.0, 1e-14) << i;
  }
  for (int exponent = 12; exponent < 53; ++exponent) {
    const auto word = std::uint64_t{1} << (64 - exponent);
    EXPECT_NEAR(probability_below(normal_value(word, 0.0, 1.0)) / middle_of(word), 1.0, 5e-14)
        << exponent;
  }
  EXPECT_NEAR(normal_value(0, 0.0, 1.0), -8.2924, 1e-4);
  EXPECT_EQ(normal_value(0, 1.0, 2.0), 1.0 + 2.0 * normal_value(0, 0.0, 1.0));
}

TEST(Distributions, ExponentialValuesInvertTheDistribution) {
  EXPECT_EQ(exponential_value(all_ones, 1.0), 0.0);
  EXPECT_DOUBLE_EQ(exponential_value(0, 1.0), 53 * std::log(2.0));
  for (int i = 0; i < 1000; ++i) {
    const auto u = i / 1000.0;
    EXPECT_DOUBLE_EQ(exponential_value(word_of(u), 3.0),
                     -3.0 * std::log(std::floor(std::ldexp(u, 53)) * 0x1p-53 + 0x1p-53));
  }
}

TEST(Distributions, LogarithmAndExponentialAreThoseOfTheLibraryToTheLastBits) {
  for (int i = 1; i < 10000; ++i) {
    const auto x = std::ldexp(0.5 + i / 7001.0, i % 101 - 50);
    EXPECT_NEAR(portable_log(x), std::log(x), 3e-16 * std::abs(std::log(x))) << x;
    const auto y = (i - 5000) / 100.0;
    EXPECT_NEAR(portable_exp(y) / std::exp(y), 1.0, 4e-16) << y;
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_exp(0.0), 1.0);
}

TEST(Distributions, ManyAtOnceAreTheSameAsOneByOne) {
  std::vector<std::uint64_t> words(1000);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = (i + 1) * 0x9e3779b97f4a7c15U;
  }
  words.insert(words.end(), {0, 1, half, half - 1, all_ones});
  const double low = -3.0, high = 5.5;
  std::vector<double> values(words.size());
  std::vector<std::int64_t> integers(words.size());
  uniform_values(words, {&low, 0}, {&high, 0}, values.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(values[i], uniform_value(words[i], low, high));
  }
  normal_values(words, {&low, 0}, {&high, 0}, values.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(values[i], normal_value(words[i], low, high));
  }
  exponential_values(words, {&high, 0}, values.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(values[i], exponential_value(words[i], high));
  }
  integer_values(words, -7, 1000, integers.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(integers[i], integer_value(words[i], -7, 1000));
  }
}

TEST(Distributions, IntegersCoverTheirRangeEvenly) {
  constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(integer_value(0, -3, 6), -3);
  EXPECT_EQ(integer_value(all_ones, -3, 6), 2);
  EXPECT_EQ(integer_value(half, -3, 6), 0);
  EXPECT_EQ(integer_value(half - 1, -3, 6), -1);
  const auto n = n_integers(smallest, largest);
  EXPECT_EQ(n, all_ones);
  EXPECT_EQ(words_per_integer(n), 2U);
  EXPECT_EQ(words_per_integer(std::uint64_t{1} << 32U), 1U);
  EXPECT_EQ(words_per_integer((std::uint64_t{1} << 32U) + 1), 2U);
  EXPECT_EQ(integer_value(0, 0, smallest, n), smallest);
  EXPECT_EQ(integer_value(all_ones, all_ones, smallest, n), largest - 1);
  EXPECT_EQ(integer_value(half, 0, smallest, n), -1);
}

TEST(Poisson, SmallMeansInvertTheDistribution) {
  for (const double mean : {0.0, 1e-9, 0.3, 1.0, 5.5, 9.999}) {
    const Poisson poisson{mean};
    const PoissonTable table{mean};
    double sum = 0.0;
    for (int k = 0; k < 30; ++k) {
      const auto before = sum;
      sum += std::exp(k * std::log(std::max(mean, 1e-300)) - mean - std::lgamma(k + 1.0));
      if (const auto middle = 0.5 * (before + std::min(sum, 1.0)); sum - before > 1e-12) {
        EXPECT_EQ(poisson([&] { return word_of(middle); }), k) << mean;
      }
      EXPECT_EQ(poisson([&] { return word_of(before); }), table(word_of(before)));
    }
    EXPECT_EQ(poisson([] { return all_ones; }), table(all_ones));
    EXPECT_LT(table(all_ones), 60);
  }
}

TEST(Poisson, FactorialsAreThoseOfTheLibrary) {
  for (int k = 0; k < 200; ++k) {
    EXPECT_NEAR(log_factorial(k), std::lgamma(k + 1.0), 1e-14 * (1.0 + std::lgamma(k + 1.0))) << k;
  }
}

}  // namespace

}  // namespace forkrun::random
