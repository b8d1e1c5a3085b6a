#include <forkrun/random/block_random.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace forkrun {

namespace {

using random::Parameter;

constexpr RandomKey key = random_key(5, "module");

/// Not in order, some far apart, as in a skim.
std::vector<std::uint64_t> event_numbers(std::size_t n) {
  std::vector<std::uint64_t> events(n);
  for (std::size_t i = 0; i < n; ++i) {
    events[i] = (i % 3 == 0) ? 1'000'000'007U * i : 2 * n - i;
  }
  return events;
}

/// Calls of all kinds one after the other, each with its own number of values per event.
class BlockRandomTest : public ::testing::Test {
 protected:
  explicit BlockRandomTest(std::size_t n_events = 1000) : events{event_numbers(n_events)} {
    offsets.push_back(0);
    for (std::size_t i = 0; i < n_events; ++i) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(i % 7 == 0 ? 600 : i % 5));
      const auto& lumi = i < 300 ? lumis[0] : i == 300 ? lumis[1] : lumis[2];
      singles.emplace_back(key, lumi.run, lumi.lumi, events[i]);
    }
  }

  /// What `draw` gives event by event.
  template <typename Draw>
  std::vector<double> one_by_one(const ValuesPerEvent& values, Draw draw) {
    std::vector<double> drawn;
    for (std::size_t event = 0; event < events.size(); ++event) {
      for (std::size_t i = 0; i < values.of(event); ++i) {
        drawn.push_back(static_cast<double>(draw(singles[event], drawn.size())));
      }
    }
    return drawn;
  }

  /// What `draw` gives for the block.
  template <typename T, typename Draw>
  std::vector<double> at_once(const ValuesPerEvent& values, Draw draw) {
    std::vector<T> drawn(values.of_all(events.size()));
    draw(drawn.data());
    return {drawn.begin(), drawn.end()};
  }

  /// Every kind of call, also with a parameter for each value.
  void expect_same(const ValuesPerEvent& values) {
    const double one = 1.0, two = 2.0;
    const Parameter<double> location{&one, 0}, scale{&two, 0};
    EXPECT_EQ(
        at_once<double>(values, [&](auto* to) { block.uniform(values, location, scale, to); }),
        one_by_one(values, [](auto& r, auto) { return r.uniform(1.0, 2.0); }));
    EXPECT_EQ(at_once<double>(values, [&](auto* to) { block.normal(values, location, scale, to); }),
              one_by_one(values, [](auto& r, auto) { return r.normal(1.0, 2.0); }));
    EXPECT_EQ(at_once<double>(values, [&](auto* to) { block.exponential(values, scale, to); }),
              one_by_one(values, [](auto& r, auto) { return r.exponential(2.0); }));
    expect_same_with_many_parameters(values);
    expect_same_integers(values, -4, 9);
    expect_same_integers(values, -4, std::int64_t{1} << 40U);
    for (const double mean : {0.0, 1.5, 40.0}) {
      const Parameter<double> parameter{&mean, 0};
      EXPECT_EQ(
          at_once<std::int64_t>(values, [&](auto* to) { block.poisson(values, parameter, to); }),
          one_by_one(values, [&](auto& r, auto) { return r.poisson(mean); }));
    }
  }

  void expect_same_integers(const ValuesPerEvent& values, std::int64_t low, std::int64_t high) {
    EXPECT_EQ(at_once<std::int64_t>(
                  values, [&](auto* to) { block.integers(values, {&low, 0}, {&high, 0}, to); }),
              one_by_one(values, [&](auto& r, auto) { return r.integers(low, high); }));
  }

  void expect_same_with_many_parameters(const ValuesPerEvent& values) {
    const double zero = 0.0;
    std::vector<double> many(values.of_all(events.size()) + 1);
    for (std::size_t i = 0; i < many.size(); ++i) {
      many[i] = static_cast<double>(i % 29);
    }
    const Parameter<double> parameter{many.data(), 1};
    EXPECT_EQ(
        at_once<double>(values, [&](auto* to) { block.normal(values, {&zero, 0}, parameter, to); }),
        one_by_one(values, [&](auto& r, auto i) { return r.normal(0.0, many[i]); }));
    EXPECT_EQ(
        at_once<std::int64_t>(values, [&](auto* to) { block.poisson(values, parameter, to); }),
        one_by_one(values, [&](auto& r, auto i) { return r.poisson(many[i]); }));
  }

  std::vector<std::uint64_t> events;
  std::vector<std::int64_t> offsets;
  std::vector<EventRandom> singles;
  std::vector<LumiOfEvents> lumis{{3, 4, 300}, {3, 5, 301}, {7, 4, events.size()}};
  BlockRandom block{key, lumis, events};
};

TEST_F(BlockRandomTest, GivesWhatEachEventGives) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    expect_same(ValuesPerEvent{1});
    expect_same(ValuesPerEvent{3});
    expect_same(ValuesPerEvent{offsets});
    expect_same(ValuesPerEvent{0});
  }
}

TEST_F(BlockRandomTest, RefusesParametersThatMeanNothing) {
  const ValuesPerEvent one{1};
  std::vector<double> values(events.size());
  std::vector<std::int64_t> numbers(events.size());
  const double zero = 0.0, negative = -1.0;
  const std::int64_t three = 3;
  EXPECT_THROW(block.normal(one, {&zero, 0}, {&negative, 0}, values.data()), std::invalid_argument);
  EXPECT_THROW(block.exponential(one, {&negative, 0}, values.data()), std::invalid_argument);
  EXPECT_THROW(block.poisson(one, {&negative, 0}, numbers.data()), std::invalid_argument);
  EXPECT_THROW(block.integers(one, {&three, 0}, {&three, 0}, numbers.data()),
               std::invalid_argument);
}

TEST(BlockRandom, OfNoEventsGivesNothing) {
  BlockRandom block{key, {}, {}};
  const std::vector<std::int64_t> offsets{0};
  block.words(ValuesPerEvent{1}, nullptr);
  block.words(ValuesPerEvent{8}, nullptr);
  block.words(ValuesPerEvent{offsets}, nullptr);
  EXPECT_EQ(block.n_events(), 0U);
}

}  // namespace

}  // namespace forkrun
