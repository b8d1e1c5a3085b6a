#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/source/event_ids.hpp>
#include <forkrun/formats/source/filled_column.hpp>
#include <forkrun/formats/source/friend_reader.hpp>
#include <forkrun/formats/table/table.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

class TTree;

namespace forkrun::root_io {

struct TreeSourceConfig;

/// One file of a tree source, opened by a lane: its tree, trees of friends, and readers of their
/// columns. Distinct columns may be read at the same time.
class SourceFile {
 public:
  /// \throws InputError if it is not the indexed file
  SourceFile(const TreeSourceConfig& config, std::uint32_t number);
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;
  ~SourceFile();

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] TreeFile& file() const { return *file_; }
  /// For a source of trees.
  [[nodiscard]] const InputTree& input_tree() const;
  /// ROOT's object for it.
  [[nodiscard]] TTree& tree() const;

  /// Later loads are for another block.
  void begin_block();
  /// Ids of entries [first, last), until the next call; friends must have the same events there.
  const EventIds& load(std::int64_t first, std::int64_t last);
  /// A column of entries [first, last).
  void read(std::size_t column, std::int64_t first, std::int64_t last, Column& into);
  /// A branch of the tree itself, even if it is no column of the source.
  void read_branch(const std::string& name, std::int64_t first, std::int64_t last, Column& into);
  [[nodiscard]] bool has(const std::string& branch) const { return table_->has(branch); }

  [[nodiscard]] SourceLane::Statistics statistics() const;

 private:
  void open();
  void expect(std::int64_t first, std::int64_t last);
  ColumnReader& reader(std::size_t column);
  /// nullptr if the file has its branch.
  FilledColumn* filled(std::size_t column);

  const TreeSourceConfig& config_;
  std::uint32_t number_;
  std::unique_ptr<TreeFile> file_;
  std::unique_ptr<Table> table_;
  mutable TTree* tree_of_root_ = nullptr;  ///< null until first use
  std::unique_ptr<EventIds> ids_;
  std::vector<std::unique_ptr<FriendReader>> friends_;
  std::vector<std::unique_ptr<ColumnReader>> readers_;  ///< by column, made at first use
  std::vector<std::unique_ptr<FilledColumn>> filled_;   ///< the same, in place of some of them
  std::map<std::string, std::unique_ptr<ColumnReader>> branches_;  ///< for `read_branch`
  EntryRun expected_{};                                            ///< entries that were announced
  bool is_remote_ = false;
};

}  // namespace forkrun::root_io
