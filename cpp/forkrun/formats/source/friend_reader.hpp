#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/source/event_ids.hpp>
#include <forkrun/formats/source/reading_order.hpp>
#include <forkrun/formats/table/table.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// Partners in a friend for a file's entries, as ranges of consecutive entries.
struct FriendEntries {
  std::vector<std::int64_t> first{};  ///< of a range, in the file of the events
  std::vector<std::int32_t> file{};   ///< number of the friend's file, negative: none
  std::vector<std::int64_t>
      entry{};  ///< partner of the first; further entries have the following partners
  std::vector<std::uint8_t> repeats{};  ///< whether all entries have the same partner instead
};

/// A tree whose entries belong to those of the source's tree.
struct FriendTree {
  struct File {
    std::string path;  ///< may be the file of the events
    std::string tree;
    FileIdentity identity;
  };
  /// Partners of the entries of one file of the source.
  struct Part {
    std::vector<File> files{};
    FriendEntries entries{};
  };
  IdBranches ids{};            ///< of events, to be compared; empty names: not compared
  std::vector<Part> parts{};   ///< by file of the source
  std::size_t n_kept_bytes{};  ///< memory for unpacked data; 0: entries are read as stored
};

/// Column from a branch of a friend.
struct FriendColumn {
  std::size_t number{};  ///< of the friend
  std::string branch;
  double fill{};  ///< value of entries without a partner
};

/// Reads the columns of a friend for the entries of one file. Distinct columns may be read at the
/// same time.
class FriendReader {
 public:
  /// `of_events`: file of the events, with `n_events` entries and this number; it and `tree`
  /// outlive this. `room`: for unpacked data; null: entries are read as stored.
  FriendReader(const FriendTree& tree, std::shared_ptr<UnpackedRoom> room, TreeFile& of_events,
               std::int64_t n_events, std::uint32_t number, std::size_t n_columns);

  /// Drops loaded entries.
  void begin_block() { loaded_.clear(); }
  /// Opens the files with the partners of entries [first, last), which must be these events.
  void load(std::int64_t first, std::int64_t last, const EventIds& events);
  /// Whether a file with partners, other than the file of the events, is remote.
  [[nodiscard]] bool is_remote() const;
  /// Notes the ranges to be read for entries [first, last) of a column.
  void add_parts(std::size_t column, const FriendColumn& from, ColumnType wanted,
                 std::int64_t first, std::int64_t last);
  /// All columns were noted: announces the ranges, and adds those in the file of the events.
  void expect(std::int64_t first, std::int64_t last, std::vector<StoredPart>& of_events);
  /// The column with this number, for loaded entries.
  void read(std::size_t column, const FriendColumn& from, ColumnType wanted, std::int64_t first,
            std::int64_t last, Column& into);

  [[nodiscard]] SourceLane::Statistics statistics() const;

 private:
  struct OpenFile {
    std::unique_ptr<TreeFile> own{};  ///< null if it is the file of the events
    TreeFile* file{};
    std::unique_ptr<Table> table{};
    std::unique_ptr<EventIds> ids{};                       ///< null if they are not compared
    std::vector<std::unique_ptr<ColumnReader>> readers{};  ///< by column, made at first use
    std::vector<StoredPart> parts{};                       ///< to be read soon
  };
  /// Consecutive entries with consecutive partners, the same partner, or none.
  struct Run {
    std::int64_t n_entries{};
    std::int32_t file{};
    std::int64_t entry{};
    bool repeats{};
    [[nodiscard]] bool has_partners() const { return file >= 0; }
    [[nodiscard]] std::int64_t last() const { return entry + (repeats ? 1 : n_entries); }
  };
  /// Entries read from the friend, and their partners.
  struct Loaded {
    std::vector<Run> runs{};
    ReadingOrder order{{}};  ///< order of the runs with partners
  };
  using Entries = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] ReadingOrder order_of(std::span<const Run> runs) const;
  [[nodiscard]] std::vector<Run> runs_of(std::int64_t first, std::int64_t last) const;
  void open(std::size_t file);
  void check_events(const Run& run, std::int64_t first, const EventIds& events) const;
  void read_runs(std::size_t column, const FriendColumn& from, ColumnType wanted,
                 const Loaded& loaded, Column& into);
  ColumnReader& reader(std::size_t file, std::size_t column, const FriendColumn& from,
                       ColumnType wanted);
  void read_entries(std::size_t column, const FriendColumn& from, ColumnType wanted,
                    const EntryRange& entries, Column& into);

  const FriendTree& tree_;
  std::shared_ptr<UnpackedRoom> room_;
  const FriendTree::Part& part_;
  TreeFile& of_events_;
  std::int64_t n_events_;
  std::uint32_t number_;
  std::size_t n_columns_;
  std::vector<OpenFile> files_;       ///< by number; open after first use
  std::map<Entries, Loaded> loaded_;  ///< by first entry and last
};

}  // namespace forkrun::root_io
