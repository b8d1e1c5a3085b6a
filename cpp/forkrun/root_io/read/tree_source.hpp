#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/root_io/read/branch_reader.hpp>
#include <forkrun/root_io/read/event_ids.hpp>
#include <forkrun/root_io/read/input_file.hpp>

class TTree;

namespace forkrun::root_io {

struct TreeSourceConfig {
  std::vector<std::string> files;
  std::string tree;
  IdBranches ids;
  std::vector<ColumnDescription> columns;  ///< what modules may ask for
  std::vector<std::vector<std::int64_t>>
      clusters;                           ///< per file: first entry of each, then n_entries
  std::vector<FileIdentity> identities;   ///< per file, as indexed; none: they are not compared
  std::map<std::string, double> fills{};  ///< values of columns in files that do not have them
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
  [[nodiscard]] TTree& tree() const { return *tree_; }
  [[nodiscard]] InputFile& file() const { return *file_; }
  /// Changes whenever another file is opened: references into the earlier one are then void.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  BranchReader& reader(std::size_t column);
  /// The value of a column that this file does not have; null if it has it, or there is none.
  [[nodiscard]] const double* fill_of(std::size_t column) const;
  void check_lumi(LumiId lumi, std::size_t first, std::size_t last) const;

  const TreeSourceConfig& config_;
  std::unique_ptr<InputFile> file_;
  TTree* tree_ = nullptr;
  std::uint32_t file_number_{};
  std::uint64_t generation_ = 0;
  std::unique_ptr<EventIds> ids_;
  std::vector<std::unique_ptr<BranchReader>> readers_;  ///< by column, made when first asked for
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
