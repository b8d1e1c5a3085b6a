#include <forkrun/formats/output/clusters_ahead.hpp>

#include <algorithm>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

/// Unpacked bytes of events: some windows of packed ones.
constexpr double most_bytes_ahead = 64 << 20;
constexpr double least_bytes_ahead = 48 << 20;

double n_events_in(const EntryRange& cluster) {
  return static_cast<double>(cluster.last - cluster.first);
}

}  // namespace

/// The next events not yet looked at; nullptr: none.
const Selected* ClustersAhead::front() {
  try {
    return is_unreadable_ ? nullptr : events_.front();
  } catch (const Error&) {
    is_unreadable_ = true;
    return nullptr;
  }
}

EntryRange ClustersAhead::take(std::int64_t before_entry) {
  const auto taken = events_.take_before(before_entry).entries;
  n_seen_ += taken.last - taken.first;
  return taken;
}

std::vector<EntryRange> ClustersAhead::next(std::uint32_t file, std::int64_t n_taken,
                                            const ClusterOf& cluster_of, double bytes_per_event,
                                            bool copies_whole) {
  while (!ahead_.empty() && ahead_.front().end <= n_taken) {
    ahead_.pop_front();
  }
  double n_bytes = 0;
  for (const auto& each : ahead_) {
    n_bytes += bytes_per_event * n_events_in(each.cluster);
  }
  std::vector<EntryRange> more;
  if (n_bytes >= least_bytes_ahead) {
    return more;
  }
  for (const auto* next = front(); next != nullptr && n_bytes < most_bytes_ahead; next = front()) {
    if (n_seen_ < n_taken) {
      const auto last = next->entries.first + (n_taken - n_seen_);
      static_cast<void>(take(std::min(next->entries.last, last)));
      continue;
    }
    if (next->entries.file != file) {
      break;
    }
    const auto cluster = cluster_of(next->entries);
    const auto taken = take(cluster.last);
    if (!ahead_.empty() && ahead_.back().cluster.first == cluster.first) {
      ahead_.back().end = n_seen_;
    } else if (!copies_whole || cluster.first < taken.first || taken.last < cluster.last) {
      ahead_.push_back({cluster, n_seen_});
      more.push_back(cluster);
      n_bytes += bytes_per_event * n_events_in(cluster);
    }
  }
  return more;
}

}  // namespace forkrun::root_io
