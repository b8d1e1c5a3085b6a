#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/formats/output/clusters_ahead.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/fragments/selected_events.hpp>

namespace forkrun::root_io {

/// A file to make. `entries`: of the input, whose events it has; none: all.
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
  /// Gets the path of each file that is complete, before it is compared with what it was made of.
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

  /// The events that come next, and the group they are of; null at the end.
  [[nodiscard]] const Selected* next() { return events_.front(); }
  [[nodiscard]] std::size_t group() const { return events_.group(); }
  /// Adds events as long as they are of this cluster of the input.
  void add(const EntryRange& cluster);
  /// The files are complete; gives the events in each.
  std::vector<std::int64_t> finish();

  /// Memory of entries that are collected for a cluster, at most, about.
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
  std::optional<ClustersAhead> ahead_;  ///< of far input
  std::int64_t n_taken_{};
  std::unique_ptr<FileMaker> file_;
  std::vector<std::int64_t> n_events_;
  std::int64_t n_before_{};
};

}  // namespace forkrun::root_io
