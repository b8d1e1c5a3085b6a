#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/output/output_tree.hpp>

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

  [[nodiscard]] const std::vector<ColumnDescription>& columns() const { return content_.products; }
  /// One cluster: the columns in the order of `columns()`. \throws OutputError if their numbers of
  /// events differ, or the counts of columns that share a counter.
  void write(const std::vector<Column>& cluster);
  /// \throws OutputError
  void close();

 private:
  void check(const std::vector<Column>& cluster) const;

  OutputContent content_;
  std::map<std::string, std::size_t> counted_;  ///< counter → the first column that it counts
  std::unique_ptr<RecordFile> file_;
  std::unique_ptr<OutputTree> tree_;
};

}  // namespace forkrun::root_io
