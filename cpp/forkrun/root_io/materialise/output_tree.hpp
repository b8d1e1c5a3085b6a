#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/root_io/materialise/cluster_cutter.hpp>
#include <forkrun/root_io/materialise/kept_input.hpp>
#include <forkrun/root_io/write/branch_writer.hpp>
#include <forkrun/root_io/write/output_file.hpp>

class TBranch;
class TDirectory;
class TTree;

namespace forkrun::root_io {

/// What the tree of an output holds.
struct OutputContent {
  std::vector<std::string> branches;        ///< of the input; their counters are kept with them
  std::vector<ColumnDescription> products;  ///< new columns
  Compression compression;
  /// Baskets that are kept whole are compressed anew, unless they are compressed so already.
  bool recompresses{};
};

/// Values of the new columns of consecutive events: a part of a fragment's piece.
struct NewValues {
  const std::vector<Column>* columns;
  EntryRun events;
};

/// Writes an output's tree, a cluster at a time. Entries of kept branches are copied as bytes from
/// basket to basket, and baskets that are kept whole without being unzipped; branches of objects
/// whose bytes cannot be moved are read and filled by ROOT.
class OutputTree {
 public:
  /// \throws InputError, OutputError
  OutputTree(OutputFile& file, const std::string& tree_path, KeptInput& input,
             const OutputContent& content, std::size_t n_threads);
  ~OutputTree();

  /// Uncompressed bytes that an event of this file takes in the kept branches.
  [[nodiscard]] double bytes_per_event(std::uint32_t file);
  /// Uncompressed bytes of a cluster.
  [[nodiscard]] double wanted_cluster_bytes() const;
  /// Whether baskets of the input may be copied as they are.
  [[nodiscard]] bool keeps_baskets() const { return keeps_baskets_; }

  /// Events of the present cluster; all of one file. `values`: of all of them, one after the other.
  void add(std::span<const EntryRange> entries, std::span<const NewValues> values);
  /// All events of a cluster of the input, and nothing else.
  void add_whole(const EntryRange& entries, std::span<const NewValues> values);
  /// Uncompressed bytes of the present cluster that are not written yet.
  [[nodiscard]] double n_pending_bytes();
  /// Writes the present cluster.
  void end_cluster(std::int64_t n_events);
  /// The tree is complete.
  void finish();

 private:
  struct NewColumn {
    std::size_t number{};
    BranchWriter writer;
  };

  void keep_branches(TreeLane& input);
  void add_products();
  [[nodiscard]] bool stays_as_it_is(const TBranch& branch) const;
  void open(std::uint32_t file);
  void copy_records(std::span<const std::size_t> branches, const EntryRun& entries);
  void add_columns(std::span<const NewValues> values);
  void fill_objects(const EntryRange& entries);
  [[nodiscard]] std::vector<BranchWriter*> writers();

  OutputFile& file_;
  KeptInput& input_;
  const OutputContent& content_;
  std::size_t n_threads_;
  bool keeps_baskets_{};
  std::uint64_t generation_{};
  std::unique_ptr<TTree> tree_;
  std::vector<BranchWriter> kept_;
  std::vector<TBranch*> holders_;  ///< of kept ones, without entries of their own
  bool keeps_objects_ = false;     ///< as bytes
  std::vector<NewColumn> columns_;
  std::vector<NewColumn> counters_;   ///< of new jagged columns
  std::vector<std::string> objects_;  ///< branches that ROOT copies
  std::int64_t n_entries_{};
  Bytes chunk_;
};

}  // namespace forkrun::root_io
