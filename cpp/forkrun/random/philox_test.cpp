#include <forkrun/random/philox.hpp>

#include <forkrun/random/philox_lanes.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace forkrun::random {

namespace {

// The known answers that come with Random123, "philox4x32 10".
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr auto all = 0xffffffffU;
  EXPECT_EQ(philox({all, all, all, all}, {all, all}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, PairsOfWordsAreTheCounterOfPositionEventAndLumi) {
  const auto pair = word_pair(0x243f6a88, 0x13198a2e85a308d3, 0x03707344, {0xa4093822, 0x299f31d0});
  EXPECT_EQ(pair.first, 0x94fdccebd16cfe09U);
  EXPECT_EQ(pair.second, 0x24126ea15001e420U);
}

/// Pairs for any numbers and events, made by `make`.
std::vector<std::uint64_t> made_by(void (*make)(const PairsToMake&, std::size_t),
                                   std::size_t n_pairs) {
  std::vector<std::uint64_t> n(n_pairs + philox_padding), event(n.size()), first(n.size()),
      second(n.size());
  for (std::size_t i = 0; i < n_pairs; ++i) {
    n[i] = (i * 0x9e3779b9U) & 0xffffffffU;
    event[i] = i * 0xd1b54a32d192ed03U;
  }
  make({n.data(), event.data(), 77, {0xdeadbeefU, 0xfeedfaceU}, first.data(), second.data()},
       n_pairs);
  first.resize(n_pairs);
  first.insert(first.end(), second.begin(), second.begin() + static_cast<std::ptrdiff_t>(n_pairs));
  return first;
}

TEST(Philox, ManyAtOnceAreTheSameAsOneByOne) {
  for (const std::size_t n_pairs : {0U, 1U, 15U, 16U, 31U, 32U, 33U, 1000U}) {
    const auto expected = made_by(make_pairs_one_by_one, n_pairs);
    EXPECT_EQ(made_by(make_pairs, n_pairs), expected) << n_pairs;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
      EXPECT_EQ(made_by(make_pairs_avx2, n_pairs), expected) << n_pairs;
    }
    if (__builtin_cpu_supports("avx512f")) {
      EXPECT_EQ(made_by(make_pairs_avx512, n_pairs), expected) << n_pairs;
    }
#endif
  }
}

}  // namespace

}  // namespace forkrun::random
