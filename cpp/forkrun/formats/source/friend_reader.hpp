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

/// Which entries of a friend go with those of a file, as stretches of consecutive entries.
struct FriendEntries {
  std::vector<std::int64_t> first{};  ///< of a stretch, in the file of the events
  std::vector<std::int32_t> file{};   ///< number of the friend's file, or less than 0: none
  std::vector<std::int64_t> entry{};  ///< partner of the first; each further entry has the next one
  std::vector<std::uint8_t> repeats{};  ///< whether all have the same one instead
};

/// A tree whose entries belong to those of the source's tree.
struct FriendTree {
  struct File {
    std::string path;  ///< may be that of the events
    std::string tree;
    FileIdentity identity;
  };
  /// Where the partners of one file of the source are.
  struct Part {
    std::vector<File> files{};
    FriendEntries entries{};
  };
  IdBranches ids{};           ///< of events, which are compared; empty names: they are not
  std::vector<Part> parts{};  ///< by file of the source
  std::shared_ptr<UnpackedRoom> unpacked_room{};  ///< null: entries are read as they are stored
};

/// A column that is a branch of a friend.
struct FriendColumn {
  std::size_t number{};  ///< of the friend
  std::string branch;
  double fill{};  ///< value of entries without a partner
};

/// Reads the columns of a friend for the entries of one file. Distinct columns may be read at the
/// same time.
class FriendReader {
 public:
  /// `of_events`: the file of the events, with `n_events` entries and this number; both outlive it.
  FriendReader(const FriendTree& tree, TreeFile& of_events, std::int64_t n_events,
               std::uint32_t number, std::size_t n_columns);

  /// Forgets what was loaded.
  void begin_block() { loaded_.clear(); }
  /// Opens what has the partners of entries [first, last), which have to be these events.
  void load(std::int64_t first, std::int64_t last, const EventIds& events);
  /// Whether a file with partners, which is not that of the events, is on a server.
  [[nodiscard]] bool is_remote() const;
  /// Notes what will be read for entries [first, last) of a column.
  void add_parts(std::size_t column, const FriendColumn& from, ColumnType wanted,
                 std::int64_t first, std::int64_t last);
  /// All columns were noted: says so to files, and adds what is in that of the events.
  void expect(std::int64_t first, std::int64_t last, std::vector<StoredPart>& of_events);
  /// A column, which has this number, of entries that are loaded.
  void read(std::size_t column, const FriendColumn& from, ColumnType wanted, std::int64_t first,
            std::int64_t last, Column& into);

  [[nodiscard]] SourceLane::Statistics statistics() const;

 private:
  struct OpenFile {
    std::unique_ptr<TreeFile> own{};  ///< null if it is that of the events
    TreeFile* file{};
    std::unique_ptr<Table> table{};
    std::unique_ptr<EventIds> ids{};                       ///< null if they are not compared
    std::vector<std::unique_ptr<ColumnReader>> readers{};  ///< by column, made when asked for
    std::vector<StoredPart> parts{};                       ///< that will be read soon
  };
  /// Consecutive entries whose partners are so, or are the same one, or that have none.
  struct Run {
    std::int64_t n_entries{};
    std::int32_t file{};
    std::int64_t entry{};
    bool repeats{};
    [[nodiscard]] bool has_partners() const { return file >= 0; }
    [[nodiscard]] std::int64_t last() const { return entry + (repeats ? 1 : n_entries); }
  };
  /// What is read for some entries, and which of it goes with them.
  struct Loaded {
    std::vector<Run> runs{};
    ReadingOrder order{{}};  ///< of the runs with partners
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
  const FriendTree::Part& part_;
  TreeFile& of_events_;
  std::int64_t n_events_;
  std::uint32_t number_;
  std::size_t n_columns_;
  std::vector<OpenFile> files_;       ///< by number; those that were asked for are open
  std::map<Entries, Loaded> loaded_;  ///< by first entry and last
};

}  // namespace forkrun::root_io
