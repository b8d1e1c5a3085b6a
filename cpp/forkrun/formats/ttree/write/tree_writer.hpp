#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
#include <forkrun/formats/ttree/write/written_tree.hpp>

namespace forkrun::root_io {

/// With the name of each list's counter. A column that has the name of a shared one is left out: it
/// is made of the lists.
[[nodiscard]] std::vector<NewBranch> with_counters(std::vector<NewBranch> columns);

/// Writes columns to a new tree, a cluster at a time: without ROOT if no column is nested, and
/// other trees of its file were written so.
class TreeWriter {
 public:
  /// `columns`: a jagged one "Muon_pt" gets the counter "nMuon", shared by all of that prefix, if
  /// it does not say another. What has the name of a shared counter is left out.
  /// `mode` update: a further tree of an existing file. \throws OutputError
  TreeWriter(const std::string& path, const std::string& tree, std::vector<NewBranch> columns,
             Compression compression, const std::string& title, OutputMode mode);

  [[nodiscard]] const std::vector<NewBranch>& columns() const { return columns_; }
  /// One cluster: the columns in the order of `columns()`. \throws OutputError if their numbers of
  /// events differ, or the counts of columns that share a counter.
  void write(std::span<const Column> cluster);
  /// \throws OutputError
  void close();

 private:
  void check(std::span<const Column> cluster) const;

  std::string name_;
  std::unique_ptr<RecordFile> file_;
  std::unique_ptr<WrittenTree> tree_;
  std::vector<NewBranch> columns_;
  std::map<std::string, std::size_t> counted_;  ///< counter → the first column that it counts
  std::vector<std::string> counter_names_;
  std::vector<BranchWriter> counters_;
  std::vector<BranchWriter> writers_;
  std::int64_t n_entries_{};
};

}  // namespace forkrun::root_io
