#include <forkrun/formats/ttree/write/branch_samples.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace forkrun::root_io {
namespace {

using Entry = std::array<std::byte, 2>;

Entry entry_of(std::int64_t number) { return {std::byte{1}, static_cast<std::byte>(number)}; }

/// Two entries a basket, as they are to be.
void note_basket(BranchSamples& samples, std::int64_t first) {
  samples.note(first, entry_of(first));
  samples.note(first + 1, entry_of(first + 1));
}

TEST(BranchSamples, EntriesThatAreMixedUpAreFoundBeforeTheyAreCompressed) {
  for (std::int64_t wrong = 0; wrong < 40; ++wrong) {
    BranchSamples samples{"x"};
    std::string message;
    try {
      for (std::int64_t first = 0; first < 40; first += 2) {
        note_basket(samples, first);
        Entry entry{};
        samples.compare("Events", [&](std::int64_t number) {
          entry = entry_of(number == wrong ? number + 1 : number);
          return std::span<const std::byte>{entry};
        });
      }
    } catch (const VerificationFailed& error) {
      message = error.what();
    }
    EXPECT_TRUE(
        message.starts_with("tree \"Events\", branch \"x\": entry " + std::to_string(wrong) + " "))
        << message;
  }
}

TEST(BranchSamples, OneBasketOfAPeriodIsReadBackAndAnotherOneForEachBranch) {
  std::vector<std::int64_t> firsts;
  for (const auto* name : {"a", "b", "c", "d"}) {
    BranchSamples samples{name};
    Entry entry{};
    for (std::int64_t first = 0; first < 4 * 2 * 8; first += 2) {
      note_basket(samples, first);
      samples.compare("Events", [&](std::int64_t number) {
        entry = entry_of(number);
        return std::span<const std::byte>{entry};
      });
    }
    ASSERT_EQ(samples.entries().size(), 8U);
    EXPECT_EQ(samples.entries()[2].number - samples.entries()[0].number,
              2 * static_cast<std::int64_t>(BranchSamples::period));
    firsts.push_back(samples.entries()[0].number);
  }
  EXPECT_NE(firsts, std::vector<std::int64_t>(4, firsts[0]));
}

TEST(BranchSamples, OfManyEntriesTheFirstAndTheLastAreCompared) {
  BranchSamples samples{"x"};
  for (std::int64_t number = 0; number < 100; ++number) {
    samples.note(number, entry_of(number));
  }
  std::vector<std::int64_t> compared;
  Entry entry{};
  samples.compare("Events", [&](std::int64_t number) {
    compared.push_back(number);
    entry = entry_of(number);
    return std::span<const std::byte>{entry};
  });
  EXPECT_EQ(compared, (std::vector<std::int64_t>{0, 1, 2, 99}));
}

}  // namespace
}  // namespace forkrun::root_io
