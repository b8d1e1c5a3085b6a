#include <forkrun/bytes/zip.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <Compression.h>
#include <RZip.h>
#include <gtest/gtest.h>

namespace forkrun {
namespace {

/// Numbers as those of a branch: near each other, and rising.
std::vector<std::byte> some_numbers(std::size_t n_bytes) {
  std::vector<std::byte> bytes(n_bytes);
  std::uint32_t state = 1;
  for (std::size_t at = 0; at + sizeof(float) <= n_bytes; at += sizeof(float)) {
    state = state * 1664525U + 1013904223U;
    const auto value = static_cast<float>(state >> 20U) / 16.0F;
    std::memcpy(&bytes[at], &value, sizeof value);
  }
  return bytes;
}

std::vector<std::byte> zipped(const std::vector<std::byte>& from, const std::string& compression) {
  std::vector<std::byte> into(from.size());
  into.resize(zip(from, Compression::parse(compression), into));
  return into;
}

std::vector<std::byte> zipped_by_root(const std::vector<std::byte>& from, int level) {
  using Algorithm = ROOT::RCompressionSetting::EAlgorithm;
  auto source = from;
  std::vector<std::byte> into(from.size());
  int n_from = static_cast<int>(from.size());
  int n_into = n_from;
  int n_done = 0;
  R__zipMultipleAlgorithm(level, &n_from, reinterpret_cast<char*>(source.data()), &n_into,
                          reinterpret_cast<char*>(into.data()), &n_done, Algorithm::kZSTD);
  into.resize(static_cast<std::size_t>(n_done));
  return into;
}

class OfSize : public testing::TestWithParam<std::size_t> {};

TEST_P(OfSize, ALevelThatIsNamedGivesTheBytesOfRoot) {
  const auto numbers = some_numbers(GetParam());
  for (int level = 1; level <= 9; ++level) {
    EXPECT_EQ(zipped(numbers, "zstd:" + std::to_string(level)), zipped_by_root(numbers, level))
        << level;
  }
}

TEST_P(OfSize, AutoIsNearlyAsSmallAndGivesTheNumbersBack) {
  const auto numbers = some_numbers(GetParam());
  const auto own = zipped(numbers, "auto");
  EXPECT_LT(static_cast<double>(own.size()),
            1.05 * static_cast<double>(zipped_by_root(numbers, 5).size()));
  std::vector<std::byte> back(numbers.size());
  unzip(own, back);
  EXPECT_EQ(back, numbers);
}

INSTANTIATE_TEST_SUITE_P(Zip, OfSize, testing::Values(4'000, 32'000, 200'000));

TEST(Zip, AutoIsTheSearchOfBasketsWithoutAChosenLevel) {
  const auto numbers = some_numbers(200'000);
  std::vector<std::byte> into(numbers.size());
  into.resize(zip(numbers, Compression::of_settings(505), into));
  EXPECT_EQ(into, zipped(numbers, "auto"));
  EXPECT_EQ(Compression::parse("auto").settings(), 505);
}

}  // namespace
}  // namespace forkrun
