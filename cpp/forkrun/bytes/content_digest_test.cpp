#include <forkrun/bytes/content_digest.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace forkrun {

TEST(ContentDigest, DependsOnEveryBit) {
  std::vector<std::byte> bytes(149);  // two whole stripes and a part of one
  std::set<std::array<std::uint64_t, 2>> values{digest_of(bytes)};
  for (auto& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<std::byte>(1 << bit);
      values.insert(digest_of(bytes));
    }
    byte = {};
  }
  EXPECT_EQ(values.size(), 1 + 149 * 8U);
}

TEST(ContentDigest, DependsOnTheNumberOfZeros) {
  const std::vector<std::byte> zeros(100);
  std::set<std::array<std::uint64_t, 2>> values;
  for (std::size_t n = 0; n <= zeros.size(); ++n) {
    values.insert(digest_of(std::span{zeros}.first(n)));
  }
  EXPECT_EQ(values.size(), 101U);
}

TEST(ContentDigest, DependsOnTheOrder) {
  ContentDigest one;
  ContentDigest other;
  one.add(1);
  one.add(2);
  other.add(2);
  other.add(1);
  EXPECT_NE(one.value(), other.value());
}

}  // namespace forkrun
