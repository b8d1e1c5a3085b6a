#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/table/output_table.hpp>
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

/// A file to make. `entries`: entries of the input that it gets; none: all.
struct FileToMake {
  std::string path;
  std::vector<EntryRange> entries;
};

/// An output to make, of one file or several.
struct OutputToMake {
  std::vector<FragmentGroup> fragments;  ///< in the order of the output
  std::vector<FileToMake> files;         ///< in the order of the events
  OutputContent content;
  std::int64_t n_events{};  ///< in all fragments
  /// Gets the number, in the list, of the group that is read next; called just before each of them.
  std::function<void(std::size_t)> before_group;
  /// Gets the number of events written; called after each cluster.
  std::function<void(std::int64_t)> progress;
  /// Gets the path of each complete file, before it is compared with the input.
  std::function<void(const std::string&)> on_written{};
};

class FileMaker;

/// Makes the files of an output, one after the other.
class OutputMaker {
 public:
  /// \throws InputError, OutputError
  OutputMaker(const OutputToMake& output, OutputInput& input, std::size_t n_threads);
  ~OutputMaker();
  OutputMaker(const OutputMaker&) = delete;
  OutputMaker& operator=(const OutputMaker&) = delete;

  /// The next events, and their group; null at the end.
  [[nodiscard]] const Selected* next() { return events_.front(); }
  [[nodiscard]] std::size_t group() const { return events_.group(); }
  /// Adds events as long as they belong to this cluster of the input.
  void add(const EntryRange& cluster);
  /// Completes the files; returns the events in each.
  std::vector<std::int64_t> finish();

  /// Approximate limit of memory for entries collected for a cluster.
  [[nodiscard]] double most_pending_bytes();

 private:
  void expect(const EntryRange& cluster);
  void add(Selected selected);
  void open();
  void close();

  const OutputToMake& output_;
  OutputInput& input_;
  MakeTable make_table_;
  SelectedEvents events_;
  std::optional<ClustersAhead> ahead_;  ///< for remote input
  std::int64_t n_taken_{};
  std::unique_ptr<FileMaker> file_;
  std::vector<std::int64_t> n_events_;
  std::int64_t n_before_{};
};

}  // namespace forkrun::root_io
