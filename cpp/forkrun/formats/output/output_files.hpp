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
