#include <forkrun/plan/number_keys.hpp>

#include <gtest/gtest.h>

namespace forkrun {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(NumberKeys, KeysAreNumberedAsTheyFirstAppear) {
  const std::vector<std::uint64_t> keys{7, 7, 3, 7, ~std::uint64_t{0}, 0, 3};
  const auto found = number_keys(keys);
  EXPECT_EQ(found.first, (Numbers{0, 2, 4, 5}));
  EXPECT_EQ(found.number, (Numbers{0, 0, 1, 0, 2, 3, 1}));
}

TEST(NumberKeys, NoKeyHasNoNumber) {
  const auto found = number_keys({});
  EXPECT_TRUE(found.first.empty());
  EXPECT_TRUE(found.number.empty());
}

TEST(NumberKeys, ManyKeysKeepTheirNumbersAsTheTableGrows) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    keys.push_back((i % 30'000) << 32U);
  }
  const auto found = number_keys(keys);
  ASSERT_EQ(found.first.size(), 30'000U);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(found.number[i], static_cast<std::int64_t>(i % 30'000));
  }
}

}  // namespace
}  // namespace forkrun
