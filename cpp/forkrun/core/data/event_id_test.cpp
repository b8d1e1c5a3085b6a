#include <forkrun/core/data/event_id.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

EventDigest digest_of(const std::vector<EventId>& ids) {
  EventDigest digest;
  for (const auto& id : ids) {
    digest.add(id);
  }
  return digest;
}

TEST(EventDigestTest, digest_does_not_depend_on_order_or_grouping) {
  const auto forward = digest_of({{1, 2, 3}, {1, 2, 4}, {7, 1, 3}});
  auto parts = digest_of({{7, 1, 3}});
  parts += digest_of({{1, 2, 4}, {1, 2, 3}});
  EXPECT_EQ(parts, forward);
  EXPECT_EQ(forward.count(), 3U);
}

TEST(EventDigestTest, what_was_added_can_be_taken_out) {
  EventDigest all;
  EventDigest part;
  for (std::uint64_t event = 0; event < 100; ++event) {
    all.add({1, 2, event});
    if (event % 3 == 0) {
      part.add({1, 2, event});
    }
  }
  EventDigest rest;
  for (std::uint64_t event = 0; event < 100; ++event) {
    if (event % 3 != 0) {
      rest.add({1, 2, event});
    }
  }
  EXPECT_EQ(all -= part, rest);
}

TEST(EventDigestTest, spans_and_single_events_give_the_same) {
  EventDigest span;
  span.add({1, 2}, std::vector<std::uint64_t>{3, 4});
  EXPECT_EQ(span, digest_of({{1, 2, 3}, {1, 2, 4}}));
}

TEST(EventDigestTest, digest_never_changes_between_versions) {
  EXPECT_EQ(EventDigest{}.hex(), std::string(32, '0'));
  EXPECT_EQ(digest_of({{1, 2, 3}}).hex(), "7fa62b2d3915e41f11f1ca057cf9e513");
  EXPECT_EQ(digest_of({{1, 2, 3}, {4'000'000'000U, 5, ~0ULL}}).hex(),
            "d29668231fc7005a77fc9bc92a0af8c5");
}

TEST(EventDigestTest, neighbouring_ids_have_different_digests) {
  std::set<std::string> seen;
  for (std::uint32_t run = 0; run < 20; ++run) {
    for (std::uint32_t lumi = 0; lumi < 20; ++lumi) {
      for (std::uint64_t event = 0; event < 20; ++event) {
        seen.insert(digest_of({{run, lumi, event}}).hex());
      }
    }
  }
  EXPECT_EQ(seen.size(), 8000U);
}

TEST(EventDigestTest, one_event_twice_and_another_missing_is_noticed) {
  EXPECT_NE(digest_of({{1, 1, 1}, {1, 1, 1}}), digest_of({{1, 1, 1}, {1, 1, 2}}));
  EXPECT_NE(digest_of({{1, 1, 1}, {1, 1, 4}}), digest_of({{1, 1, 2}, {1, 1, 3}}));
}

TEST(EventDigestTest, parse_is_the_inverse_of_hex) {
  const auto digest = digest_of({{1, 2, 3}, {3, 2, 1}});
  EXPECT_EQ(EventDigest::parse(2, digest.hex()), digest);
  EXPECT_THROW((void)EventDigest::parse(1, "12"), Error);
  EXPECT_THROW((void)EventDigest::parse(1, std::string(32, 'X')), Error);
}

}  // namespace
}  // namespace forkrun
