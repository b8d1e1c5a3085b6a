#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// Selected entries, in processing order, and the new columns of these events.
struct FragmentPiece {
  std::vector<EntryRange> entries;
  std::vector<Column> columns;

  [[nodiscard]] std::int64_t n_events() const;
};

/// Writes a fragment: the share of a unit of work in an output. It is a file of pieces, written as
/// their values fill `piece_bytes`, so that memory stays bounded.
class FragmentWriter {
 public:
  enum class Sync : std::uint8_t { yes, no };

  /// \throws OutputError
  FragmentWriter(const std::string& path, const std::vector<ColumnDescription>& columns);
  ~FragmentWriter();
  FragmentWriter(const FragmentWriter&) = delete;
  FragmentWriter& operator=(const FragmentWriter&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void add_entries(const EntryRange& entries);
  /// Adds the values of selected events of a column; runs count from the begin of the column.
  void add(std::size_t number, const Column& column, std::span<const EntryRun> runs);
  /// All columns have the values of all added entries: a piece may be written.
  void end_of_step();
  /// Writes the rest, and syncs unless the file can be written again; returns the size of the file.
  /// \throws OutputError
  std::int64_t close(Sync sync = Sync::yes);
  /// CRC-32C of all bytes given to the disk.
  [[nodiscard]] std::uint32_t checksum() const { return checksum_; }
  /// Closes and removes the file.
  void abandon() noexcept;

 private:
  struct Values {
    std::size_t value_size{};
    std::size_t n_in_item{};
    std::size_t n_levels{};
    Bytes values;
    /// By level: items or lists in each list.
    std::array<std::vector<std::int32_t>, ColumnType::most_levels> counts;
  };

  /// Adds the counts of lists [first, last), and replaces the range by that of their items.
  static void add_counts(std::span<const std::int64_t> offsets, std::size_t& first,
                         std::size_t& last, std::vector<std::int32_t>& counts);
  void write_piece();
  void put_packed(std::span<const std::byte> bytes);
  void put(std::span<const std::byte> bytes);
  void put_number(std::uint64_t number);
  [[nodiscard]] std::size_t n_pending_bytes() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  int descriptor_ = -1;
  std::int64_t n_written_{};
  std::uint32_t checksum_{};
  std::vector<EntryRange> entries_;
  std::vector<Values> columns_;
  Bytes packed_;
};

/// Reads a fragment piece by piece.
class FragmentReader {
 public:
  /// \throws InputError if it is no fragment.
  explicit FragmentReader(const std::string& path);

  [[nodiscard]] const std::vector<ColumnDescription>& columns() const { return columns_; }
  /// The next piece; none at the end. \throws InputError if the file is damaged.
  [[nodiscard]] std::optional<FragmentPiece> next();

 private:
  void read_column(Column& column, std::size_t n_events);
  [[nodiscard]] std::uint64_t number();
  [[nodiscard]] std::string text();
  void unpack(std::span<std::byte> into);
  void read(std::span<std::byte> into);
  [[nodiscard]] std::size_t checked_size(std::uint64_t n, std::size_t unit) const;
  [[noreturn]] void fail() const;

  std::string path_;
  std::ifstream stream_;
  std::vector<ColumnDescription> columns_;
  std::vector<std::byte> packed_;
};

/// Writes all pieces of fragments with the same columns into one, unsynced; returns its size and
/// CRC-32C. `files`: new numbers of input files; others stay. \throws InputError, OutputError
std::pair<std::int64_t, std::uint32_t> join_fragments(
    const std::vector<std::string>& paths, const std::string& joined,
    const std::map<std::uint32_t, std::uint32_t>& files);

}  // namespace forkrun
