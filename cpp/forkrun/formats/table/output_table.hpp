#pragma once

#include <algorithm>
#include <cstddef>
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

/// Content of an output's table.
struct OutputContent {
  std::vector<std::string> branches{};        ///< of the input; their counters are kept with them
  std::vector<std::string> members{};         ///< columns within these branches, for RNTuples
  std::vector<ColumnDescription> products{};  ///< new columns
  /// Counters of new lists, where they are not those of their prefix.
  std::map<std::string, std::string> counters{};
  Compression compression;
  /// Baskets that are kept whole are recompressed, unless they have this compression already.
  bool recompresses{};
  /// The tree goes with the events: it is added to their file, and has no new columns.
  bool goes_with_events{};
  std::string tree{};     ///< its path in outputs
  std::string title{};    ///< of a tree of which nothing is kept
  bool has_flat_names{};  ///< of RNTuples: also "Jet_pt", of "Jet.pt", and "nJet"
  // For merges of RNTuples:
  bool has_all_fields{};   ///< of the first file
  bool is_by_values{};     ///< some of the files are trees
  bool joins_pages{true};  ///< pages are copied where clusters are joined
  bool reads_copied{};     ///< copied pages are unpacked, to check that this is possible

  /// Name of a new list's counter; "": it has none.
  [[nodiscard]] std::string counter_of(const ColumnDescription& column) const {
    const auto known = counters.find(column.name);
    return known == counters.end() ? counter_name(column.name) : known->second;
  }
  [[nodiscard]] std::vector<std::string> branches_and_members() const {
    auto names = branches;
    names.insert(names.end(), members.begin(), members.end());
    return names;
  }
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

  /// Uncompressed bytes of an event of this file, else of the first with events, in the kept
  /// columns of the input and in new columns.
  [[nodiscard]] virtual double bytes_per_event() = 0;
  [[nodiscard]] virtual double bytes_per_event(std::uint32_t file) = 0;
  /// Uncompressed bytes of a cluster.
  [[nodiscard]] virtual double wanted_cluster_bytes() const = 0;
  /// Whether clusters of the input may be copied as they are.
  [[nodiscard]] virtual bool keeps_whole() const = 0;

  /// Announces entries of these clusters of one remote file.
  virtual void expect(std::span<const EntryRange> /*clusters*/) {}
  /// Whether it announces by itself the ranges of clusters that are copied.
  [[nodiscard]] virtual bool reads_copies_ahead() const { return true; }
  /// Events of the present cluster; all of one file. `values`: of all of them, in order.
  virtual void add(std::span<const EntryRange> entries, std::span<const NewValues> values) = 0;
  /// All events of a cluster of the input, and nothing else.
  virtual void add_whole(const EntryRange& entries, std::span<const NewValues> values) = 0;
  /// Uncompressed, unwritten bytes of the present cluster.
  [[nodiscard]] virtual double n_pending_bytes() = 0;
  /// Writes the present cluster.
  virtual void end_cluster() = 0;
  /// Completes the table, and with it the file.
  virtual void finish() = 0;
  /// Compares the file with samples of its input. \throws VerificationFailed
  virtual void check() const = 0;
  /// Removes the file.
  virtual void abandon() noexcept = 0;
};

/// Makes the tables of an output's files, one after the other, and owns their shared state: they
/// must not outlive it. \throws InputError, OutputError
using MakeTable = std::function<std::unique_ptr<OutputTable>(const std::string& path)>;

/// By number of a file, its entries in outputs.
using RanksOfFiles = std::map<std::uint32_t, std::shared_ptr<const EntryRanks>>;

/// Input of outputs that are made together: data that several of them need are read once.
class OutputInput {
 public:
  OutputInput() = default;
  virtual ~OutputInput() = default;
  OutputInput(const OutputInput&) = delete;
  OutputInput& operator=(const OutputInput&) = delete;

  /// First entry of each cluster stored together in this file, then the number of entries.
  [[nodiscard]] virtual std::span<const std::int64_t> clusters(std::uint32_t file) = 0;
  /// Whether announcing reads of a file is of use.
  [[nodiscard]] virtual bool is_remote(std::uint32_t /*file*/) const { return false; }
  /// Only these entries will be requested, again and again: no more need stay unpacked.
  virtual void keep_only(RanksOfFiles /*ranks*/) {}
  /// `content` must outlive the result.
  [[nodiscard]] virtual MakeTable tables(const OutputContent& content, std::size_t n_threads) = 0;
  /// Frees the memory of data read.
  virtual void forget() = 0;
};

/// Uncompressed bytes of a new cluster: enough for each branch, within a process's memory.
[[nodiscard]] inline double wanted_cluster_bytes(std::size_t n_branches) {
  constexpr double cluster_bytes = 32 << 20;
  constexpr double branch_bytes = 64 << 10;
  return std::max(cluster_bytes, branch_bytes * static_cast<double>(n_branches));
}

}  // namespace forkrun
