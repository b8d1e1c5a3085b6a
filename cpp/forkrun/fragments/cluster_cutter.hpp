#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// Takes the events of an output in order, cluster by cluster.
class ClusterSink {
 public:
  virtual ~ClusterSink() = default;
  /// More events of the present cluster: ranges of one file, of one cluster of the input.
  virtual void add(std::span<const EntryRange> entries) = 0;
  /// A whole cluster of the input, alone in the present cluster.
  virtual void add_whole(const EntryRange& entries) = 0;
  /// Bytes of the present cluster's events from `add`.
  [[nodiscard]] virtual double n_bytes() const = 0;
  /// The present cluster is complete, with so many events.
  virtual void end_cluster(std::int64_t n_events) = 0;
};

/// Clusters and event size of a file of the input.
struct InputClusters {
  std::span<const std::int64_t>
      begins;                ///< first entry of each cluster, then the number of entries
  double bytes_per_event{};  ///< uncompressed, of the output's columns
};

/// Begin and end of the cluster with an entry. `begins`: as in InputClusters; `last`: its end if
/// these end before it.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> cluster_around(
    std::span<const std::int64_t> begins, std::int64_t entry, std::int64_t last);

/// Number of the file whose tree gives outputs their structure: the first with events; if none has
/// any, the first whose tree has branches. `clusters`: of each file, as in InputClusters; empty if
/// its tree has no branches.
[[nodiscard]] std::size_t first_file(std::span<const std::vector<std::int64_t>> clusters);

/// Decides where clusters of an output, events whose baskets are written together, begin and end:
/// by the selected entries, the clusters of the input and the size of events, independent of the
/// grouping of entries. A cluster of the input with all of its events becomes one of the output, so
/// that its baskets can be copied, unless it is small; other events are collected until they have
/// `wanted_bytes`.
class ClusterCutter {
 public:
  using InputOf = std::function<InputClusters(std::uint32_t file)>;

  /// `keeps_whole`: whether whole clusters of the input are taken as they are.
  ClusterCutter(double wanted_bytes, bool keeps_whole, InputOf input_of, ClusterSink& sink);

  void add(const EntryRange& entries);
  /// The last entries' cluster of the input is finished.
  void end_input_cluster();
  void finish();

 private:
  void add_within_cluster(const EntryRange& entries, std::int64_t first, std::int64_t last);
  void collect(std::span<const EntryRange> entries);
  void end_of_step();
  void end_cluster();
  [[nodiscard]] const InputClusters& input(std::uint32_t file);

  double wanted_bytes_;
  bool keeps_whole_;
  InputOf input_of_;
  ClusterSink& sink_;
  std::optional<std::uint32_t> file_;
  InputClusters input_;
  /// Entries of the present cluster of the input.
  std::vector<EntryRange> section_;
  std::int64_t section_first_{};
  std::int64_t section_last_{};
  std::int64_t n_collected_{};
  std::int64_t next_step_{1};  ///< events after which to measure their size
  double collected_bytes_{};
};

}  // namespace forkrun
