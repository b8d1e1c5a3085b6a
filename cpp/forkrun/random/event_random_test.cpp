#include <forkrun/random/event_random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

namespace forkrun {

namespace {

constexpr auto seed = 20;

EventRandom of_event(std::uint64_t event, std::uint32_t run = 1, std::uint32_t lumi = 2) {
  return {random_key(seed, "smear"), run, lumi, event};
}

/// (O - E)^2 / E, summed over bins.
double chi_square(const std::vector<double>& observed, const std::vector<double>& expected) {
  double sum = 0.0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    sum += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i];
  }
  return sum;
}

// Numbers that have been given once are given for ever: jobs are repeated years later.
TEST(EventRandom, GivesTheNumbersItAlwaysGave) {
  EXPECT_EQ(random_key(20, "smear").value, 0x6892341ce90a96daU);
  auto random = of_event(123456789012345);
  EXPECT_EQ(random(), 0xfe6b88d8cabf170dU);
  EXPECT_EQ(random.uniform(), 0.3142352426972962);
  EXPECT_EQ(random.normal(), 0.73425768738597486);
  EXPECT_EQ(random.exponential(), 2.4254408296402468);
  EXPECT_EQ(random.integers(0, 1000), 444);
}

TEST(EventRandom, IsAsRandomBitGeneratorsAre) {
  static_assert(std::uniform_random_bit_generator<EventRandom>);
  std::vector<int> shuffled(20);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  const auto sorted = shuffled;
  std::ranges::shuffle(shuffled, of_event(1));
  EXPECT_NE(shuffled, sorted);
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, sorted);
}

TEST(EventRandom, DiffersInEveryPartOfWhatItDependsOn) {
  std::set<std::uint64_t> words;
  const auto add = [&](EventRandom random) { words.insert({random(), random()}); };
  add(of_event(1));
  add(of_event(2));
  add(of_event(1 + (std::uint64_t{1} << 32U)));
  add(of_event(1, 2));
  add(of_event(1, 1, 3));
  add(of_event(1, 2, 1));
  add({random_key(seed + 1, "smear"), 1, 2, 1});
  add({random_key(seed, "smear2"), 1, 2, 1});
  add({random_key(seed, ""), 1, 2, 1});
  EXPECT_EQ(words.size(), 18U);
}

TEST(EventRandom, GoesOnWhereItWasAtAnyPosition) {
  auto whole = of_event(7);
  const auto key = philox_key(random_key(seed, "smear"), 1);
  for (std::uint64_t position = 0; position < 9; ++position) {
    EXPECT_EQ(whole.position(), position);
    EventRandom rest{key, 2, 7, position};
    EXPECT_EQ(rest(), whole());
  }
}

TEST(EventRandom, HasTwoToThe33WordsAndNoMore) {
  EventRandom random{philox_key(random_key(seed, "smear"), 1), 2, 7, (std::uint64_t{1} << 33U) - 2};
  const auto first = random();
  EXPECT_NE(first, random());
  EXPECT_THROW(random(), std::length_error);
}

TEST(EventRandom, RefusesParametersThatMeanNothing) {
  auto random = of_event(1);
  EXPECT_THROW(random.integers(3, 3), std::invalid_argument);
  EXPECT_THROW(random.integers(3, -3), std::invalid_argument);
  EXPECT_THROW(random.poisson(-1e-9), std::invalid_argument);
  EXPECT_THROW(random.poisson(1.1e12), std::invalid_argument);
  EXPECT_THROW(random.poisson(std::nan("")), std::invalid_argument);
  EXPECT_EQ(random.position(), 0U);
}

/// The first number of each of many events, and many numbers of one event.
class EventRandomStatistics : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr int n = 400'000;

  template <typename Draw>
  static std::vector<double> drawn(Draw draw) {
    std::vector<double> values(n);
    auto one = of_event(1);
    for (int i = 0; i < n; ++i) {
      auto other = of_event(static_cast<std::uint64_t>(i) + 1);
      values[static_cast<std::size_t>(i)] = static_cast<double>(draw(GetParam() ? one : other));
    }
    return values;
  }

  /// Within 4 standard deviations of the mean's own distribution; so is the variance.
  static void expect_moments(const std::vector<double>& values, double mean, double variance,
                             double fourth_moment) {
    double sum = 0.0;
    double squares = 0.0;
    double products = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += values[i];
      squares += (values[i] - mean) * (values[i] - mean);
      products += i > 0 ? (values[i] - mean) * (values[i - 1] - mean) : 0.0;
    }
    EXPECT_NEAR(sum / n, mean, 4 * std::sqrt(variance / n));
    EXPECT_NEAR(squares / n, variance, 4 * std::sqrt((fourth_moment - variance * variance) / n));
    EXPECT_NEAR(products / n, 0.0, 4 * variance / std::sqrt(n));
  }

  /// Counts in [0, 1) after the distribution function, in 1000 equal bins: chi-square is 999 +- 45.
  template <typename Function>
  static void expect_even(const std::vector<double>& values, Function probability_below) {
    std::vector<double> observed(1000), expected(1000, n / 1000.0);
    for (const auto value : values) {
      ++observed[std::min(static_cast<std::size_t>(1000.0 * probability_below(value)),
                          std::size_t{999})];
    }
    EXPECT_NEAR(chi_square(observed, expected), 999.0, 4 * 45.0);
  }
};

TEST_P(EventRandomStatistics, OfUniform) {
  const auto values = drawn([](EventRandom& random) { return random.uniform(); });
  expect_moments(values, 0.5, 1.0 / 12, 1.0 / 80);
  expect_even(values, [](double x) { return x; });
}

TEST_P(EventRandomStatistics, OfNormal) {
  const auto values = drawn([](EventRandom& random) { return random.normal(1.0, 2.0); });
  expect_moments(values, 1.0, 4.0, 48.0);
  expect_even(values, [](double x) { return 0.5 * std::erfc(-(x - 1.0) / std::sqrt(8.0)); });
}

TEST_P(EventRandomStatistics, OfExponential) {
  const auto values = drawn([](EventRandom& random) { return random.exponential(3.0); });
  expect_moments(values, 3.0, 9.0, 9.0 * 81.0);
  expect_even(values, [](double x) { return 1.0 - std::exp(-x / 3.0); });
}

TEST_P(EventRandomStatistics, OfIntegers) {
  const auto values = drawn([](EventRandom& random) { return random.integers(-500, 500); });
  expect_even(values, [](double x) { return (x + 500.5) / 1000.0; });
  const auto wide = drawn(
      [](EventRandom& random) { return random.integers(-(std::int64_t{1} << 62U), 1LL << 62U); });
  expect_even(wide, [](double x) { return x / std::ldexp(1.0, 63) + 0.5; });
}

TEST_P(EventRandomStatistics, OfPoisson) {
  for (const double mean : {0.7, 9.9, 10.0, 33.3, 1234.5, 1e8}) {
    const auto values = drawn([&](EventRandom& random) { return random.poisson(mean); });
    expect_moments(values, mean, mean, mean + 3 * mean * mean);
    std::vector<double> observed(2000), expected(2000);
    for (const auto value : values) {
      ++observed[static_cast<std::size_t>(std::min(value, 1999.0))];
    }
    std::vector<double> seen, wanted;
    for (std::size_t k = 0; k < 1999; ++k) {
      const auto x = static_cast<double>(k);
      const auto p = std::exp(x * std::log(mean) - mean - std::lgamma(x + 1.0));
      if (n * p > 20) {
        seen.push_back(observed[k]);
        wanted.push_back(n * p);
      }
    }
    const auto n_bins = static_cast<double>(seen.size());
    EXPECT_NEAR(chi_square(seen, wanted), n_bins, 4 * std::sqrt(2 * n_bins) + 1e-9) << mean;
  }
}

/// Neighbouring events, bit by bit: every bit of the word is one in half of them, and changes from
/// event to event in half of them.
TEST(EventRandom, BitsOfNeighbouringEventsAreIndependent) {
  constexpr int n = 100'000;
  std::array<int, 64> ones{}, changes{};
  std::uint64_t last = 0;
  for (std::uint64_t event = 0; event < n; ++event) {
    const auto word = of_event(event)();
    for (std::size_t bit = 0; bit < 64; ++bit) {
      ones[bit] += static_cast<int>((word >> bit) & 1U);
      changes[bit] += static_cast<int>(((word ^ last) >> bit) & 1U);
    }
    last = word;
  }
  for (std::size_t bit = 0; bit < 64; ++bit) {
    EXPECT_NEAR(ones[bit], n / 2, 4 * std::sqrt(n) / 2) << bit;
    EXPECT_NEAR(changes[bit], n / 2, 4 * std::sqrt(n) / 2) << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(Along, EventRandomStatistics, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "one_event" : "many_events"; });

}  // namespace

}  // namespace forkrun
