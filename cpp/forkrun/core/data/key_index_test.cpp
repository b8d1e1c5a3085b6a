#include <forkrun/core/data/key_index.hpp>

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace forkrun {
namespace {

using Numbers = std::vector<std::uint64_t>;
using Places = std::vector<std::int64_t>;
using Rule = KeyIndex::Rule;

std::array<std::span<const std::uint64_t>, 2> columns(const Numbers& a, const Numbers& b) {
  return {std::span{a}, std::span{b}};
}

TEST(KeyIndex, FindsEntriesInStretches) {
  KeyIndex index{2};
  index.add(columns({1, 1, 1}, {10, 11, 12}));
  index.add(columns({2, 2}, {10, 11}));
  EXPECT_EQ(index.size(), 5U);
  const auto found =
      index.partners(columns({2, 2, 1, 1, 1, 3, 3}, {10, 11, 11, 12, 10, 1, 2}), Rule::none);
  EXPECT_EQ(found.first, (Places{0, 2, 4, 5}));
  EXPECT_EQ(found.partner, (Places{3, 1, 0, KeyPartners::none}));
  EXPECT_EQ(found.repeats, (std::vector<std::uint8_t>{0, 0, 0, 1}));
}

TEST(KeyIndex, GivesManyEntriesTheSamePartner) {
  KeyIndex index{2};
  index.add(columns({1, 1, 2}, {1, 2, 1}));
  const auto found = index.partners(columns({1, 1, 1, 1, 2}, {1, 1, 2, 2, 1}), Rule::none);
  EXPECT_EQ(found.first, (Places{0, 2, 4}));
  EXPECT_EQ(found.partner, (Places{0, 1, 2}));
  EXPECT_EQ(found.repeats, (std::vector<std::uint8_t>{1, 1, 0}));
}

TEST(KeyIndex, TakesTheFirstOfSeveralOrNone) {
  KeyIndex index{2};
  index.add(columns({1, 1, 1}, {5, 6, 5}));
  index.add(columns({1, 1}, {7, 6}));
  const Numbers runs{1, 1, 1, 1};
  const Numbers events{6, 5, 7, 6};
  const auto wanted = columns(runs, events);
  EXPECT_EQ(index.partners(wanted, Rule::first).partner, (Places{1, 0, 3, 1}));
  const auto none = index.partners(wanted, Rule::none);
  EXPECT_EQ(none.first, (Places{0, 2, 3}));
  EXPECT_EQ(none.partner, (Places{KeyPartners::several, 3, KeyPartners::several}));
}

TEST(KeyIndex, OfNothingHasNoPartners) {
  const KeyIndex index{2};
  EXPECT_EQ(index.partners(columns({1}, {5}), Rule::none).partner, (Places{KeyPartners::none}));
}

}  // namespace
}  // namespace forkrun
