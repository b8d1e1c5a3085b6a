#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/root_io/read/branch_reader.hpp>
#include <forkrun/root_io/read/event_ids.hpp>
#include <forkrun/root_io/read/filled_column.hpp>
#include <forkrun/root_io/read/input_file.hpp>
#include <forkrun/root_io/read/input_tree.hpp>

class TTree;

namespace forkrun::root_io {

/// A tree whose entries belong to those of the source's tree, one to one.
struct FriendTree {
  /// Where the entries of one file of the source are in it.
  struct Part {
    std::string file;  ///< may be that file itself
    std::int64_t first_entry{};
    FileIdentity identity;
  };
  std::string tree;
  IdBranches ids{};           ///< empty names: it has none
  std::vector<Part> parts{};  ///< by file of the source
};

/// A column that is a branch of a friend.
struct FriendColumn {
  std::size_t number{};  ///< of the friend
  std::string branch;
};

struct TreeSourceConfig {
  std::vector<std::string> files;
  std::string tree;
  IdBranches ids;
  std::vector<ColumnDescription> columns;  ///< what modules may ask for
  std::vector<std::vector<std::int64_t>>
      clusters;                          ///< per file: first entry of each, then n_entries
  std::vector<FileIdentity> identities;  ///< per file, as indexed; none: they are not compared
  std::map<std::string, Fill> fills;     ///< by column, where files may lack its branch
  std::vector<FriendTree> friends{};
  std::map<std::string, FriendColumn> friend_columns{};  ///< by column
};

/// Reads one concurrent block of a tree: has its own file, tree and baskets.
class TreeLane : public SourceLane {
 public:
  explicit TreeLane(const TreeSourceConfig& config);
  ~TreeLane() override;

  std::span<const std::uint64_t> load(const EntryRange& block, const BlockLumis& lumis) override;
  void read(std::size_t column, Column& into) override;
  [[nodiscard]] Statistics statistics() const override;

  /// For output modules: opens a file without loading a block.
  void open(std::uint32_t file);
  /// As ROOT has it.
  [[nodiscard]] TTree& tree() const;
  [[nodiscard]] const InputTree& input_tree() const { return *tree_; }
  [[nodiscard]] InputFile& file() const { return *file_; }
  /// Changes whenever another file is opened: references into the earlier one are then void.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  /// A friend as of the file that is open.
  struct OpenFriend {
    std::unique_ptr<InputFile> own;  ///< null if it is in that file
    InputFile* file{};
    const InputTree* tree{};
    std::int64_t first_entry{};
    std::unique_ptr<EventIds> ids{};  ///< null if it has none
  };
  /// What a column is read from.
  struct Origin {
    InputFile& file;
    const InputTree& tree;
    const std::string& branch;
    std::int64_t first_entry;
  };

  void open_friends();
  [[nodiscard]] OpenFriend open_friend(const FriendTree& tree) const;
  void check_events(const OpenFriend& other) const;
  [[nodiscard]] Origin origin_of(std::size_t column) const;
  BranchReader& reader(std::size_t column, const Origin& origin);
  /// nullptr if the file has its branch.
  FilledColumn* filled(std::size_t column);
  void check_lumi(LumiId lumi, std::size_t first, std::size_t last) const;

  const TreeSourceConfig& config_;
  std::unique_ptr<InputFile> file_;
  const InputTree* tree_ = nullptr;
  mutable TTree* tree_of_root_ = nullptr;  ///< null until it is asked for
  std::uint32_t file_number_{};
  std::uint64_t generation_ = 0;
  std::vector<OpenFriend> friends_;
  std::unique_ptr<EventIds> ids_;
  std::vector<std::unique_ptr<BranchReader>> readers_;  ///< by column, made when first asked for
  std::vector<std::unique_ptr<FilledColumn>> filled_;   ///< the same, in place of some of them
  EntryRange block_{};
  Statistics closed_;  ///< of files closed before
};

/// Events of a tree in ROOT files.
class TreeSource : public Source {
 public:
  explicit TreeSource(TreeSourceConfig config);

  [[nodiscard]] std::span<const ColumnDescription> columns() const override {
    return config_.columns;
  }
  void cut(const UnitOfWork& unit, std::size_t block_size,
           std::vector<EntryRange>& blocks) const override;
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override;
  [[nodiscard]] const TreeSourceConfig& config() const { return config_; }

 private:
  TreeSourceConfig config_;
};

/// Cuts [first, last) into blocks of at most `block_size` entries, at cluster boundaries as far as
/// possible, a cluster larger than that into equal parts.
[[nodiscard]] std::vector<EntryRange> cut_into_blocks(const EntryRange& range,
                                                      std::span<const std::int64_t> clusters,
                                                      std::int64_t block_size);

}  // namespace forkrun::root_io
