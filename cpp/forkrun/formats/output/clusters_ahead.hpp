#pragma once

#include <deque>
#include <functional>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/fragments/selected_events.hpp>

namespace forkrun::root_io {

/// Clusters of remote files that an output needs next: enough to keep the link to a server busy
/// while events are written. Reads the fragments a second time, ahead of the writer.
class ClustersAhead {
 public:
  /// Clusters of the input, around entries.
  using ClusterOf = std::function<EntryRange(const EntryRange& entries)>;

  explicit ClustersAhead(const std::vector<FragmentGroup>& groups)
      : events_{groups, nullptr, tells_nobody_} {}

  /// Clusters of this file that were not given before and have events after the first `n_taken` of
  /// the output; none while enough are ahead. `copies_whole`: without fully selected clusters,
  /// which are read ahead as they are copied.
  [[nodiscard]] std::vector<EntryRange> next(std::uint32_t file, std::int64_t n_taken,
                                             const ClusterOf& cluster_of, double bytes_per_event,
                                             bool copies_whole);

 private:
  struct Given {
    EntryRange cluster;
    std::int64_t end{};  ///< number of the output's events up to its last
  };

  [[nodiscard]] const Selected* front();
  [[nodiscard]] EntryRange take(std::int64_t before_entry);

  std::function<void(std::size_t)> tells_nobody_;
  SelectedEvents events_;
  std::int64_t n_seen_ = 0;  ///< events of the output looked at so far
  std::deque<Given> ahead_;
  bool is_unreadable_ = false;  ///< the writer reports the error
};

}  // namespace forkrun::root_io
