#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/entry_ranks.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

enum class OutputFormat { tree, ntuple };

/// What the table of an output holds.
struct OutputContent {
  std::vector<std::string> branches;        ///< of the input; their counters are kept with them
  std::vector<ColumnDescription> products;  ///< new columns
  Compression compression;
  /// Baskets that are kept whole are compressed anew, unless they are compressed so already.
  bool recompresses{};
  /// The tree goes with the events: it is added to the file of these, and has no new columns.
  bool goes_with_events{};
  std::string tree{};     ///< its path in outputs
  bool has_flat_names{};  ///< of RNTuples: also "Jet_pt", of "Jet.pt", and "nJet"
  // Of RNTuples that are merged:
  bool has_all_fields{};   ///< of the first file
  bool is_by_values{};     ///< some of the files are trees
  bool joins_pages{true};  ///< pages are copied where clusters are joined
  bool reads_copied{};     ///< pages that are copied are unpacked, to see whether that is possible
};

/// Values of the new columns of consecutive events: a part of a fragment's piece.
struct NewValues {
  const std::vector<Column>* columns;
  EntryRun events;
};

/// Writes the events of an output to a file, a cluster at a time.
class OutputTable {
 public:
  OutputTable() = default;
  virtual ~OutputTable() = default;
  OutputTable(const OutputTable&) = delete;
  OutputTable& operator=(const OutputTable&) = delete;

  /// Uncompressed bytes that an event of this file, else of the first with events, takes in what
  /// is kept of the input, and in new columns.
  [[nodiscard]] virtual double bytes_per_event() = 0;
  [[nodiscard]] virtual double bytes_per_event(std::uint32_t file) = 0;
  /// Uncompressed bytes of a cluster.
  [[nodiscard]] virtual double wanted_cluster_bytes() const = 0;
  /// Whether clusters of the input may be copied as they are.
  [[nodiscard]] virtual bool keeps_whole() const = 0;

  /// Entries of these clusters of one file, which is remote, will be read.
  virtual void expect(std::span<const EntryRange> /*clusters*/) {}
  /// Whether it says itself what it will read of clusters that are copied as they are.
  [[nodiscard]] virtual bool reads_copies_ahead() const { return true; }
  /// Events of the present cluster; all of one file. `values`: of all of them, one after the other.
  virtual void add(std::span<const EntryRange> entries, std::span<const NewValues> values) = 0;
  /// All events of a cluster of the input, and nothing else.
  virtual void add_whole(const EntryRange& entries, std::span<const NewValues> values) = 0;
  /// Uncompressed bytes of the present cluster that are not written yet.
  [[nodiscard]] virtual double n_pending_bytes() = 0;
  /// Writes the present cluster.
  virtual void end_cluster() = 0;
  /// The table is complete, and with it the file.
  virtual void finish() = 0;
  /// Compares the file with samples of what it was made of. \throws WrittenOtherwise
  virtual void check() const = 0;
  /// Removes the file.
  virtual void abandon() noexcept = 0;
};

/// Makes the tables of an output's files, one after the other, and has what these share: they may
/// not outlive it. \throws InputError, OutputError
using MakeTable = std::function<std::unique_ptr<OutputTable>(const std::string& path)>;

/// By number of a file, the entries that outputs have of it.
using RanksOfFiles = std::map<std::uint32_t, std::shared_ptr<const EntryRanks>>;

/// The input of the outputs that are made together: what several of them take from it is read once.
class OutputInput {
 public:
  OutputInput() = default;
  virtual ~OutputInput() = default;
  OutputInput(const OutputInput&) = delete;
  OutputInput& operator=(const OutputInput&) = delete;

  /// First entry of each cluster that is stored together in this file, then the number of entries.
  [[nodiscard]] virtual std::span<const std::int64_t> clusters(std::uint32_t file) = 0;
  /// Whether it is worth it to say what will be read of a file.
  [[nodiscard]] virtual bool is_remote(std::uint32_t /*file*/) const { return false; }
  /// Nothing but these entries will be asked for, again and again: more need not stay unpacked.
  virtual void keep_only(RanksOfFiles /*ranks*/) {}
  /// `content` has to outlive what it gives.
  [[nodiscard]] virtual MakeTable tables(const OutputContent& content, std::size_t n_threads) = 0;
  /// Gives back the memory of what was read.
  virtual void forget() = 0;
};

}  // namespace forkrun
