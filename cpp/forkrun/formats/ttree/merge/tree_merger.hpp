#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/table/row_origins.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/merge/basket_copy.hpp>
#include <forkrun/formats/ttree/merge/joined_entries.hpp>
#include <forkrun/formats/ttree/merge/merged_structure.hpp>
#include <forkrun/formats/ttree/merge/reclustering.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
#include <forkrun/formats/ttree/write/rebuilt_index.hpp>

class TKey;
class TTree;

namespace forkrun::root_io {

/// A tree in a file.
struct TreePlace {
  std::string folder;  ///< its path; "": the file itself
  std::string name;    ///< of its key, which need not be its own
  std::string asked;   ///< its path as it is asked for: with a cycle where not the newest is

  [[nodiscard]] std::string path() const { return folder.empty() ? name : folder + "/" + name; }
};

/// Joins trees of one structure, in the order in which they are added, by copying their baskets as
/// they are: large reads, large writes, nothing uncompressed unless baskets are joined. That holds
/// for branches of objects and those within them as well. ROOT reads the first tree; of those whose
/// records are alike, forkrun reads where the baskets are, which is most of the work. Trees with
/// references between objects are copied by ROOT, after the same checks.
class TreeMerger {
 public:
  /// `only`: the top-level branches that are merged, all when none.
  TreeMerger(OutputFile& output, TreePlace place, const BasketTreatment& treatment,
             BasketCheck::Depth check, std::optional<std::vector<std::string>> only = {});
  ~TreeMerger();
  TreeMerger(const TreeMerger&) = delete;
  TreeMerger& operator=(const TreeMerger&) = delete;

  [[nodiscard]] const TreePlace& place() const { return place_; }

  /// `key`: of the tree in this file. \throws InputError naming the branches in which the tree
  /// differs from the first one, or the basket that is damaged.
  void add(TreeFile& file, const TKey& key);
  /// These rows of it alone. \throws InputError, also if its objects cannot be taken apart.
  void add_rows(TreeFile& file, std::span<const RowRange> rows);
  [[nodiscard]] std::int64_t n_entries() const { return n_entries_; }
  [[nodiscard]] const Reclustering& reclustering() const { return reclustering_; }
  /// Lines about what of the tree is not kept, and about trees that added nothing; once it is
  /// complete.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// Writes the merged tree; gives its entries. \throws OutputError
  std::int64_t finish();
  /// Compares the complete file with samples of the inputs. \throws WrittenOtherwise
  void check(const std::string& path) const {
    check_samples(path, path_, sampled(places_, writers_), 1);
  }

 private:
  bool adds_nothing(TTree& tree, const TreeFile& file, const BranchTree& branches);
  void start(TTree& tree, const TreeFile& file, const BranchTree& branches);
  void note_structure(TreeFile& file, const TKey& key, const BranchTree& branches);
  void add_to_index(TTree& tree, std::span<const RowRange> rows);
  bool copy_by_record(TreeFile& file, const TKey& key);
  void include_ranges(const BranchTree& from);
  void include_ranges(std::span<const BranchRecord> from);
  void check_way_of_filling(TTree& tree, const TreeFile& file);
  void copy(TTree& tree, TreeFile& file, const BranchTree& branches);
  void copy_by_branch(TTree& tree, TreeFile& file, const BranchTree& branches);
  void copy_records(TreeFile& file, const BranchTree& branches, const BasketCheck& check,
                    std::span<const BasketPlace> places);
  /// `fills`: ROOT reads all entries and fills them anew, else it copies baskets.
  void copy_by_root(TTree& tree, const TreeFile& file, bool fills);
  [[nodiscard]] std::vector<CopiedBasket> recompressed(TreeFile& file, const BasketCheck& check,
                                                       std::span<const BasketPlace> places);
  void enter(TreeFile& file, const BranchTree& branches, std::span<const BasketPlace> places,
             std::span<const CopiedBasket> copied);
  void note_passed(TreeFile& file, const BranchTree& branches, bool by_root);
  void rewrite(const BranchTree& branches, TreeFile& file, const BasketPlace& place);
  void join(TreeFile& file, const BranchTree& branches, std::span<const RowRange> rows);
  void note_branches();

  OutputFile& output_;
  TreePlace place_;
  std::string path_;  ///< of the place
  BasketTreatment treatment_;
  BasketCheck::Depth check_;
  MergedStructure structure_;
  std::unique_ptr<TTree> tree_;
  std::vector<std::string> without_entries_;  ///< files whose branches are others, or not known
  std::unique_ptr<TreeFile> only_without_entries_;
  BranchTree branches_;
  std::int64_t n_entries_{};
  bool is_by_branch_{};                   ///< the branches were filled one by one
  std::vector<std::int64_t> of_holders_;  ///< entries then, as branches_.holders
  std::vector<FilledPlace> places_;       ///< as branches_.filled
  std::vector<BranchWriter> writers_;     ///< the same
  RebuiltIndex index_;
  std::size_t n_parts_{};  ///< trees, or rows of trees, that were added
  std::vector<std::string> notes_;
  Reclustering reclustering_;
  JoinedEntries joined_;
  std::shared_ptr<const BranchLayouts> layouts_;  ///< of the first tree
  std::optional<std::string> record_;             ///< structure of the first tree's
  Bytes chunk_;
};

}  // namespace forkrun::root_io
