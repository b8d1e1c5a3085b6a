#include <forkrun/fragments/cluster_cutter.hpp>

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {
namespace {

struct Cluster {
  std::vector<EntryRange> entries;
  std::int64_t n_events{};
  bool is_whole{};

  bool operator==(const Cluster& other) const {
    return n_events == other.n_events && is_whole == other.is_whole &&
           std::ranges::equal(entries, other.entries,
                              [](const auto& a, const auto& b) { return a == b; });
  }
};

class Clusters final : public ClusterSink {
 public:
  void add(std::span<const EntryRange> entries) override {
    for (const auto& range : entries) {
      append(present_.entries, range);
    }
  }
  void add_whole(const EntryRange& entries) override {
    EXPECT_TRUE(present_.entries.empty());
    present_.entries.push_back(entries);
    present_.is_whole = true;
  }
  [[nodiscard]] double n_bytes() const override {
    return static_cast<double>(n_events_of(present_.entries)) * bytes_of_event;
  }
  void end_cluster(std::int64_t n_events) override {
    present_.n_events = n_events;
    all.push_back(std::exchange(present_, {}));
  }

  std::vector<Cluster> all;
  double bytes_of_event{1};

 private:
  Cluster present_;
};

using Begins = std::vector<std::vector<std::int64_t>>;

/// Events of one byte each.
std::vector<Cluster> cut(const Begins& begins, const std::vector<EntryRange>& entries,
                         double wanted, bool keeps_whole = true, double bytes_of_event = 1) {
  Clusters clusters;
  clusters.bytes_of_event = bytes_of_event;
  ClusterCutter cutter{wanted, keeps_whole,
                       [&](std::uint32_t file) { return InputClusters{begins.at(file), 1.0}; },
                       clusters};
  for (const auto& range : entries) {
    cutter.add(range);
  }
  cutter.finish();
  return clusters.all;
}

TEST(ClusterCutter, KeepsTheClustersOfTheInputWhereEverythingIsKept) {
  const Begins begins{{0, 50, 90, 100}, {0, 70}};
  const auto clusters = cut(begins, {{0, 0, 100}, {1, 0, 70}}, 40);
  EXPECT_EQ(clusters, (std::vector<Cluster>{{{{0, 0, 50}}, 50, true},
                                            {{{0, 50, 90}}, 40, true},
                                            {{{0, 90, 100}}, 10, true},
                                            {{{1, 0, 70}}, 70, true}}));
}

TEST(ClusterCutter, JoinsSmallWholeClusters) {
  const auto clusters = cut({{0, 1, 2, 3, 4, 5}}, {{0, 0, 5}}, 64);
  EXPECT_EQ(clusters, (std::vector<Cluster>{{{{0, 0, 5}}, 5, false}}));
}

TEST(ClusterCutter, CollectsSelectedEventsUpToTheWantedSize) {
  const auto clusters =
      cut({{0, 50, 100}, {0, 100}}, {{0, 10, 20}, {0, 60, 75}, {1, 0, 20}, {1, 30, 40}}, 30);
  EXPECT_EQ(clusters, (std::vector<Cluster>{{{{0, 10, 20}, {0, 60, 75}, {1, 0, 5}}, 30, false},
                                            {{{1, 5, 20}, {1, 30, 40}}, 25, false}}));
}

TEST(ClusterCutter, WritesWhatItHasBeforeAWholeCluster) {
  const auto clusters = cut({{0, 50, 100}}, {{0, 10, 20}, {0, 50, 100}}, 100);
  EXPECT_EQ(clusters,
            (std::vector<Cluster>{{{{0, 10, 20}}, 10, false}, {{{0, 50, 100}}, 50, true}}));
}

TEST(ClusterCutter, TakesNothingWholeWhereAllIsCompressedAnew) {
  const auto clusters = cut({{0, 50, 100}}, {{0, 0, 100}}, 80, false);
  EXPECT_EQ(clusters,
            (std::vector<Cluster>{{{{0, 0, 80}}, 80, false}, {{{0, 80, 100}}, 20, false}}));
}

TEST(ClusterCutter, EndsAClusterOfEventsThatAreMuchLargerThanTheMean) {
  const auto clusters = cut({{0, 5000}}, {{0, 10, 1010}}, 1000, true, 4);
  EXPECT_EQ(clusters,
            (std::vector<Cluster>{{{{0, 10, 522}}, 512, false}, {{{0, 522, 1010}}, 488, false}}));
}

TEST(ClusterCutter, DoesNotDependOnHowEntriesCome) {
  std::mt19937 random{1};
  const Begins begins{{0, 40, 41, 300, 1000}, {0, 500}};
  for (int round = 0; round < 200; ++round) {
    std::vector<EntryRange> whole;
    std::vector<EntryRange> parts;
    for (std::uint32_t file = 0; file < 2; ++file) {
      for (std::int64_t entry = 0; entry < begins[file].back();) {
        const auto last = std::min<std::int64_t>(entry + 1 + random() % 200, begins[file].back());
        if (random() % 3 != 0) {
          whole.push_back({file, entry, last});
          for (auto first = entry; first < last;) {
            const auto end = std::min<std::int64_t>(first + 1 + random() % 60, last);
            parts.push_back({file, first, end});
            first = end;
          }
        }
        entry = last;
      }
    }
    EXPECT_EQ(cut(begins, whole, 128), cut(begins, parts, 128));
    EXPECT_EQ(cut(begins, whole, 128, true, 5), cut(begins, parts, 128, true, 5));
  }
}

}  // namespace
}  // namespace forkrun
