#include <forkrun/core/data/entry_ranks.hpp>

#include <random>
#include <set>

#include <gtest/gtest.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

TEST(EntryRanks, AreThoseOfASortedSet) {
  std::mt19937 random{7};
  for (const std::int64_t n_entries : {0, 1, 63, 64, 65, 500}) {
    EntryRanks ranks{n_entries};
    std::set<std::int64_t> entries;
    for (int i = 0; i < 9; ++i) {
      const auto first = std::uniform_int_distribution<std::int64_t>{0, n_entries}(random);
      const auto last =
          std::min(n_entries, first + std::uniform_int_distribution<std::int64_t>{0, 80}(random));
      ranks.add(first, last);
      for (auto entry = first; entry < last; ++entry) {
        entries.insert(entry);
      }
    }
    ranks.count();
    for (std::int64_t entry = 0; entry <= n_entries; ++entry) {
      const auto at = entries.lower_bound(entry);
      EXPECT_EQ(ranks.rank(entry), std::distance(entries.begin(), at));
      EXPECT_EQ(ranks.next(entry, n_entries), at == entries.end() ? n_entries : *at);
      auto other = entry;
      while (other < n_entries && entries.contains(other)) {
        ++other;
      }
      EXPECT_EQ(ranks.next_other(entry, n_entries), other);
    }
  }
}

TEST(EntryRanks, HaveNoEntriesBehindTheLast) {
  EntryRanks ranks{10};
  EXPECT_THROW(ranks.add(9, 11), Error);
  EXPECT_THROW(ranks.add(-1, 2), Error);
}

}  // namespace
}  // namespace forkrun
