#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/source/filled_column.hpp>
#include <forkrun/formats/source/reading_order.hpp>
#include <forkrun/formats/source/source_file.hpp>
#include <forkrun/formats/ttree/read/unpacked_room.hpp>

namespace forkrun::root_io {

/// Ranges of a source to be read by this process: of units that it has begun, and of expected ones.
class EntriesAhead {
 public:
  void expect(EntryRanges ranges);
  void begin(EntryRanges unit);
  /// End of the expected range that contains these entries, or of a unit's; without one, `last`
  /// itself.
  [[nodiscard]] std::int64_t end_of(std::uint32_t file, std::int64_t first,
                                    std::int64_t last) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> expected_;  ///< ends, by begin
  std::vector<EntryRange> of_unit_;
  std::vector<EntryRange> of_unit_before_;
};

/// Where the events of a job are.
struct EventSource {
  std::vector<std::string> files{};
  std::string tree{};  ///< table of events in each file
  IdBranches ids{};
  std::vector<ColumnDescription> columns{};  ///< columns of the source for modules
  /// Per file: first entry of each, then n_entries.
  std::vector<std::vector<std::int64_t>> clusters{};
  std::vector<FileIdentity> identities{};  ///< per file, as indexed; none: not compared
  std::map<std::string, Fill> fills{};     ///< by column, where files may lack its branch
  std::vector<FriendTree> friends{};
  std::map<std::string, FriendColumn> friend_columns{};  ///< by column
  /// Memory for unpacked data, where entries are not read in the order of the file; 0: none.
  std::size_t n_kept_bytes{};
  std::string format{};                 ///< format of the files; "": that of the outputs
  std::vector<std::string> trees{};     ///< per file; none: all have `tree`
  std::vector<std::string> expected{};  ///< columns that modules will request

  [[nodiscard]] const std::string& tree_of(std::uint32_t file) const {
    return trees.empty() ? tree : trees.at(file);
  }
};

/// The same, and the memory that the files of one source share.
struct TreeSourceConfig : EventSource {
  TreeSourceConfig() = default;
  explicit TreeSourceConfig(const EventSource& events);

  std::vector<std::size_t> expected_columns{};                ///< numbers of these columns
  std::shared_ptr<UnpackedRoom> unpacked_room{};              ///< null: entries are read as stored
  std::vector<std::shared_ptr<UnpackedRoom>> friend_rooms{};  ///< the same, by friend
  std::shared_ptr<EntriesAhead> ahead = std::make_shared<EntriesAhead>();
  std::shared_ptr<LaneBaskets> lane_baskets = std::make_shared<LaneBaskets>();

  /// Files that a maker of outputs has open at a time: one, or a few where files alternate.
  [[nodiscard]] std::size_t most_open() const {
    constexpr std::size_t most_in_turn = 64;
    return unpacked_room ? most_in_turn : 1;
  }
};

/// Reads one concurrent block of a tree: has its own files, trees and baskets.
class TreeLane : public SourceLane {
 public:
  explicit TreeLane(const TreeSourceConfig& config);
  ~TreeLane() override;

  std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& lumis) override;
  void read(std::size_t column, Column& into) override;
  void read_stored(const std::string& name, Column& into) override;
  [[nodiscard]] bool has_stored(const std::string& name) const override;
  [[nodiscard]] Statistics statistics() const override;

  /// Opens a file without loading a block, and closes others.
  void open(std::uint32_t file);
  // For the file opened last.
  /// ROOT's object for it.
  [[nodiscard]] TTree& tree() const { return files_.back()->tree(); }
  [[nodiscard]] const InputTree& input_tree() const { return files_.back()->input_tree(); }
  [[nodiscard]] TreeFile& file() const { return files_.back()->file(); }
  /// Changes when another file is opened: references into the earlier one are then invalid.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  using ReadPiece = std::function<void(SourceFile&, const EntryRange&, Column&)>;

  void open_files(EntryRanges pieces);
  [[nodiscard]] SourceFile& file_of(const EntryRange& piece) const;
  void load_ids();
  template <typename LumiOf>
  void check_lumis(const BlockLumis& lumis, std::size_t n_events, const LumiOf& lumi_of) const;
  [[noreturn]] void throw_other_lumi(std::size_t event, LumiId found, LumiId wanted) const;
  void read_block(const ReadPiece& read, Column& into) const;

  const TreeSourceConfig& config_;
  std::vector<std::unique_ptr<SourceFile>> files_;  ///< of the block, or the open one
  std::uint64_t generation_ = 0;
  std::vector<EntryRange> block_;
  ReadingOrder order_{{}};
  std::vector<LumiId> lumis_;          ///< of the events of a block of several pieces
  std::vector<std::uint64_t> events_;  ///< the same
  Statistics closed_;                  ///< of files already closed
};

/// Events of a tree in ROOT files.
class TreeSource : public Source {
 public:
  explicit TreeSource(const EventSource& events) : config_{events} {}

  [[nodiscard]] std::span<const ColumnDescription> columns() const override {
    return config_.columns;
  }
  void expect(EntryRanges ranges) override { config_.ahead->expect(ranges); }
  void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const override;
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override;
  [[nodiscard]] const TreeSourceConfig& config() const { return config_; }

 private:
  TreeSourceConfig config_;
};

}  // namespace forkrun::root_io
