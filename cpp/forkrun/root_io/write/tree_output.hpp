#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/module/module.hpp>
#include <forkrun/root_io/read/tree_source.hpp>
#include <forkrun/root_io/write/branch_writer.hpp>
#include <forkrun/root_io/write/output_file.hpp>

class TBranch;
class TDirectory;
class TTree;

namespace forkrun::root_io {

struct TreeOutputConfig {
  std::string label;
  std::vector<std::string> branches;  ///< input branches to keep; their counters are kept with them
  std::vector<ColumnDescription> products;
  std::vector<std::uint32_t> product_numbers;  ///< of `products`, in the job
  Compression compression;
};

/// Top-level branches of objects whose entries an output cannot copy as bytes: ROOT reads and
/// writes them anew, with what it knows of their classes. \throws InputError
[[nodiscard]] std::vector<std::string> branches_written_anew(const std::string& path,
                                                             const std::string& tree);

/// Writes the selected events of each unit of work to a tree of its own file. Entries of kept
/// branches, and of those within them, are copied as bytes from basket to basket; branches of
/// objects whose bytes cannot be moved are read and filled by ROOT.
class TreeOutput : public OutputModule {
 public:
  explicit TreeOutput(TreeOutputConfig config);
  ~TreeOutput() override;

  /// Where the structure of the tree comes from; before the first `open`.
  void set_source(const TreeSourceConfig& source);

  void open(const UnitOfWork& unit, const std::string& path) override;
  void write(const EventBlock& block, Mask selected, Parallel& parallel) override;
  OutputSummary close(Parallel& parallel) override;
  void abandon() noexcept override;

 private:
  struct KeptBranch {
    std::string name;      ///< of the top-level branch
    std::size_t number{};  ///< of those with baskets that are within it, itself among them
    std::string form;
    BranchWriter writer;
  };
  struct NewColumn {
    ColumnDescription column;
    std::uint32_t product{};
    BranchWriter writer;
  };
  struct NewCounter {
    std::uint32_t product{};  ///< a jagged column whose values it counts
    BranchWriter writer;
  };
  /// A new jagged column that shares the counter of another: their counts must agree.
  struct SharedCounter {
    std::string column;
    std::uint32_t product{};
    std::string counter;
    std::uint32_t counted_product{};  ///< of the column that made the counter, if not of the input
    bool is_of_input{};
  };
  struct LaneReaders {
    std::uint64_t generation{};
    std::vector<std::unique_ptr<BranchReader>> kept;
    std::map<std::string, std::unique_ptr<BranchReader>> counters;
  };

  void make_structure(TDirectory& folder);
  void keep_branches(TTree& input);
  void add_products();
  void add_product(const ColumnDescription& column, std::uint32_t product);
  LaneReaders& readers_of(TreeLane& lane);
  void add_readers(TreeLane& lane, LaneReaders& readers) const;
  void check_counts(const EventBlock& block, LaneReaders& readers) const;
  void add(const EventBlock& block, LaneReaders& readers, std::span<const EntryRun> events,
           Parallel& parallel);
  void begin_cluster();
  void end_of_step(Parallel& parallel);
  void copy_kept(LaneReaders& readers, std::span<const EntryRun> runs, Parallel& parallel);
  void add_columns(const EventBlock& block, std::span<const EntryRun> runs);
  void note_objects(std::uint32_t file, std::span<const EntryRun> entries);
  void fill_objects(const EntryRange& range);
  void flush(Parallel& parallel);
  [[nodiscard]] std::vector<BranchWriter*> writers();
  void forget_structure();

  TreeOutputConfig config_;
  std::unique_ptr<TreeLane>
      template_;  ///< gives the structure of the tree, and the objects that ROOT copies
  std::string tree_path_;
  std::unique_ptr<OutputFile> file_;
  /// Made for the first unit and emptied for the next: copying a tree's structure costs more than
  /// writing a small unit.
  std::unique_ptr<TTree> tree_;
  std::vector<KeptBranch> kept_;
  std::vector<TBranch*> holders_;  ///< of kept ones, without entries of their own
  bool keeps_objects_ = false;     ///< as bytes
  std::vector<NewColumn> columns_;
  std::map<std::string, NewCounter> counters_;
  std::vector<SharedCounter> shared_;
  std::vector<std::string> objects_;
  std::vector<EntryRange> objects_to_fill_;
  std::int64_t n_in_cluster_{};  ///< events collected since baskets were written
  std::int64_t next_step_{1};    ///< events after which to see whether they make a cluster
  std::map<const TreeLane*, LaneReaders> readers_;
  EventDigest written_;
};

}  // namespace forkrun::root_io
