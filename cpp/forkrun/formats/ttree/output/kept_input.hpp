#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/formats/source/tree_source.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>

namespace forkrun::root_io {

/// A branch whose entries are copied as bytes.
struct KeptBranch {
  BranchPlace top;       ///< the top-level branch
  std::size_t number{};  ///< of those with baskets that are within it, itself among them
  std::string form{};
};

/// A branch with baskets, and what reads it.
struct KeptReader {
  std::unique_ptr<BranchReader> reader;
  std::string form;
};

/// "name, form" of a branch, for comparison with that of another file.
[[nodiscard]] std::string described(TBranch& branch);
/// Description of a branch with leaves.
[[nodiscard]] std::string described(const BranchLayout& layout);

/// Whether ROOT has to read and write the entries of a top-level branch: their bytes mean something
/// else in another place, or, if any file `has_references`, in another file.
[[nodiscard]] bool is_rewritten(TBranch& top, const std::function<bool()>& has_references);

/// The input of the outputs that are made together. One file is open at a time, or a few where
/// entries are not taken as they are stored, so that files take turns.
class SharedInput final : public OutputInput {
 public:
  /// `on_open` gets the number of each file just before it is opened.
  SharedInput(const TreeSourceConfig& source, BasketCheck::Depth check,
              std::function<void(std::size_t)> on_open);

  [[nodiscard]] const TreeSourceConfig& config() const { return source_; }
  [[nodiscard]] BasketCheck::Depth check() const { return check_; }
  /// The first file with events, which gives the structure of outputs; if none has, the first.
  [[nodiscard]] TreeLane& first_file();
  [[nodiscard]] std::uint32_t first_with_events() const;
  /// Whether objects of any file may refer to others. \throws InputError
  [[nodiscard]] bool has_references();
  /// \throws InputError
  void open(std::uint32_t file);
  /// Number of the file opened last: a new one each time that it was really opened.
  [[nodiscard]] std::uint64_t generation() const {
    return file_ == nullptr ? 0 : file_->generation;
  }
  [[nodiscard]] const TreeLane& lane() const { return file_->lane; }
  /// Readers of the branches with baskets within a top-level branch of the open file.
  /// \throws InputError
  [[nodiscard]] std::span<const KeptReader> readers(const BranchPlace& top);
  [[nodiscard]] std::span<const std::int64_t> clusters(std::uint32_t file) override {
    return source_.clusters.at(file);
  }
  [[nodiscard]] bool is_remote(std::uint32_t file) const override {
    return !LocalFile::is_path(source_.files.at(file));
  }
  void keep_only(RanksOfFiles ranks) override { ranks_ = std::move(ranks); }
  /// Kept entries of the open file; null: all.
  [[nodiscard]] const EntryRanks* ranks() const { return file_->ranks.get(); }
  [[nodiscard]] MakeTable tables(const OutputContent& content, std::size_t n_threads) override;
  /// Gives back the memory of baskets that were read.
  void forget() override;
  /// Baskets of the file that is open were read.
  void note_read() { was_read_ = true; }

 private:
  struct OpenFile {
    OpenFile(std::uint64_t number, const TreeSourceConfig& source)
        : generation{number}, lane{source} {}

    std::uint64_t generation;
    TreeLane lane;
    std::shared_ptr<const EntryRanks> ranks{};
    std::unique_ptr<InputTree> tree_of_root{};  ///< if it was needed
    std::map<BranchPlace, std::vector<KeptReader>> readers{};
  };

  [[nodiscard]] std::vector<KeptReader> made_readers(const BranchPlace& top);

  const TreeSourceConfig& source_;
  BasketCheck::Depth check_;
  std::function<void(std::size_t)> on_open_;
  RanksOfFiles ranks_;
  TreeLane first_file_;  ///< opened if another file is open
  std::optional<bool> has_references_;
  std::map<std::uint32_t, OpenFile> files_;
  OpenFile* file_ = nullptr;  ///< the one that was opened last
  std::uint64_t n_opened_ = 0;
  bool was_read_ = false;
};

/// The part of the input that one output keeps.
class KeptInput {
 public:
  explicit KeptInput(SharedInput& input) : input_{input} {}

  [[nodiscard]] const TreeSourceConfig& config() const { return input_.config(); }
  [[nodiscard]] TreeLane& first_file() { return input_.first_file(); }
  [[nodiscard]] std::uint32_t first_with_events() const { return input_.first_with_events(); }
  [[nodiscard]] bool has_references() { return input_.has_references(); }
  void set_kept(std::vector<KeptBranch> kept);

  /// \throws InputError; also if a kept branch has another form in this file.
  void open(std::uint32_t file);
  void note_read() { input_.note_read(); }
  /// Whether entries are taken in another order than they are stored.
  [[nodiscard]] bool takes_turns() const { return input_.config().unpacked_room != nullptr; }
  [[nodiscard]] std::uint64_t generation() const { return input_.generation(); }
  /// The tree in ROOT's memory.
  [[nodiscard]] TTree& tree() const { return input_.lane().tree(); }
  [[nodiscard]] std::int64_t n_entries() const { return input_.lane().input_tree().n_entries(); }
  [[nodiscard]] TreeFile& file() const { return input_.lane().file(); }
  /// Says that entries of a cluster of the file that is open will be read, if it is remote.
  void expect(std::span<const EntryRange> clusters);
  /// How a reader has these entries of the file that is open.
  [[nodiscard]] EntryRun numbered(const EntryRun& entries) const {
    const auto* ranks = input_.ranks();
    return ranks == nullptr ? entries
                            : EntryRun{ranks->rank(entries.first), ranks->rank(entries.last)};
  }
  /// Reader of a kept branch in the open file.
  [[nodiscard]] BranchReader& reader(std::size_t kept) { return *file_->readers[kept]->reader; }
  [[nodiscard]] const StoredBranch& branch(std::size_t kept) const {
    return file_->readers[kept]->reader->branch();
  }
  /// Check of baskets that are copied as they are; `branch` in a place is the number of a kept one.
  [[nodiscard]] const BasketCheck& check();

 private:
  struct OpenFile {
    std::vector<const KeptReader*> readers{};
    std::optional<BasketCheck> check{};  ///< made when it is first asked for
  };

  void find_readers();
  void check_places() const;

  SharedInput& input_;
  std::vector<KeptBranch> kept_;
  std::uint64_t generation_{};
  std::map<std::uint64_t, OpenFile> files_;  ///< by generation
  OpenFile* file_ = nullptr;
};

}  // namespace forkrun::root_io
