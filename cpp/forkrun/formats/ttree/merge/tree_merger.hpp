#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/table/row_origins.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/merge/basket_copy.hpp>
#include <forkrun/formats/ttree/merge/merged_structure.hpp>
#include <forkrun/formats/ttree/merge/reclustering.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
#include <forkrun/formats/ttree/write/relations.hpp>
#include <forkrun/formats/ttree/write/written_tree.hpp>

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

/// The file of a merge: forkrun writes it, with nothing but trees of numbers, or ROOT does.
struct MergedFile {
  explicit MergedFile(RecordFile& file)
      : records{file},
        plain{dynamic_cast<PlainFile*>(&file)},
        root{dynamic_cast<OutputFile*>(&file)} {}

  RecordFile& records;
  PlainFile* plain;
  OutputFile* root;
};

/// Joins trees of one structure, in the order in which they are added, by copying their baskets as
/// they are: large reads, large writes, nothing uncompressed unless baskets are joined. That holds
/// for branches of objects and those within them as well. Trees of numbers need no ROOT. Of others
/// it reads the first one, then records tell where baskets are, which is most of the work.
class TreeMerger {
 public:
  TreeMerger(const MergedFile& output, TreePlace place, const BasketTreatment& treatment,
             BasketCheck::Depth check);
  ~TreeMerger();
  TreeMerger(const TreeMerger&) = delete;
  TreeMerger& operator=(const TreeMerger&) = delete;

  [[nodiscard]] const TreePlace& place() const { return place_; }

  /// Gives the rows that the tree has in this file; none if ROOT is needed, and the output is not
  /// written with it. `key`: of the tree there, if ROOT is at hand. \throws InputError naming the
  /// branches in which the tree differs from the first one, or the basket that is damaged; also if
  /// not all rows are taken and its objects cannot be taken apart.
  [[nodiscard]] std::optional<std::int64_t> add(TreeFile& file, const TKey* key,
                                                const TakenRows& taken);
  [[nodiscard]] std::int64_t n_entries() const { return n_entries_; }
  [[nodiscard]] const Reclustering& reclustering() const { return reclustering_; }
  /// Lines about parts of the tree that are not kept, and about trees that added nothing; for a
  /// complete tree.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// Writes the merged tree; gives its entries. \throws OutputError
  std::int64_t finish();
  /// Compares the complete file with samples of the inputs. \throws VerificationFailed
  void check(const std::string& path) const {
    check_samples(path, path_, sampled(places_, writers_), 1);
  }

 private:
  class EntrySink;
  using ProcessOffset = std::optional<std::uint16_t>;
  using BranchOf = std::function<StoredBranch(std::size_t filled)>;

  [[nodiscard]] std::string where(const TreeFile& file) const;
  std::optional<std::int64_t> add_by_record(TreeFile& file, const TKey* key,
                                            const TakenRows& taken);
  bool start(TreeFile& file, TreeRecord& record);
  [[nodiscard]] std::vector<RowRange> rows_of(const TreeFile& file, const TakenRows& taken,
                                              std::int64_t n_rows) const;
  void note_rows(std::span<const RowRange> rows);
  void join(TreeFile& file, const BasketCheck& check, std::span<const RowRange> rows,
            const BranchOf& branch_of);
  void flush();
  void copy_whole(TreeFile& file, const BasketCheck& check, std::span<const BasketPlace> places,
                  const BranchOf& branch_of, ProcessOffset process_offset = {});
  void enter(TreeFile& file, std::span<const BasketPlace> places,
             std::span<const CopiedBasket> copied, const BranchOf& branch_of);

  // With ROOT:
  /// Whether no branch is within another one, or of objects: records tell how entries are stored.
  [[nodiscard]] bool has_own_branches_alone() const;
  void describe_classes_of(const TreeFile& file, const BranchTree& branches);
  [[nodiscard]] std::optional<TreeRecord> record_after_root(TreeFile& file, const TKey& key) const;
  std::int64_t add_by_root(TreeFile& file, const TKey& key, const TakenRows& taken);
  bool adds_nothing(TTree& tree, const TreeFile& file, const BranchTree& branches);
  void start(TTree& tree, const TreeFile& file, const BranchTree& branches);
  void note_structure(TreeFile& file, const TKey& key, const BranchTree& branches);
  void include_ranges(const BranchTree& from);
  void check_way_of_filling(TTree& tree, const TreeFile& file);
  void check_taken_apart(TTree& tree, const TreeFile& file, const BranchTree& branches) const;
  [[nodiscard]] BranchOf stored_by_root(TTree& tree, const TreeFile& file,
                                        const BranchTree& branches) const;
  void copy(TTree& tree, TreeFile& file, const BranchTree& branches, const TakenRows& taken,
            std::span<const RowRange> rows);
  void copy_by_branch(TTree& tree, TreeFile& file, const BranchTree& branches);
  /// Whether baskets hold something else where they are copied to, so that ROOT has to fill them.
  [[nodiscard]] bool must_be_filled(TreeFile& file, const BasketCheck& check,
                                    const BranchTree& branches, std::span<const BasketPlace> places,
                                    ProcessOffset process_offset);
  /// Whether keys of baskets have no room for that.
  [[nodiscard]] bool lacks_room(TreeFile& file, const BasketCheck& check,
                                ProcessOffset process_offset) {
    return process_offset.value_or(0) > 0 &&
           check_all(file, check, chunk_, [](const auto& /*place*/, const auto& header) {
             return header.is_of_small_file;
           });
  }
  [[nodiscard]] ProcessOffset process_offset_of(const TreeFile& file, const BranchTree& branches);
  void fill(TTree& tree, TreeFile& file, const BranchTree& branches);
  void note_branches();
  void finish_root_tree();

  MergedFile output_;
  TreePlace place_;
  std::string path_;  ///< of the place
  BasketTreatment treatment_;
  BasketCheck::Depth check_;
  MergedStructure structure_;
  std::unique_ptr<WrittenTree> tree_;         ///< none yet: no tree with entries has come
  TTree* root_tree_{};                        ///< the same, if ROOT writes it
  std::vector<std::string> without_entries_;  ///< files whose branches are others, or not known
  std::unique_ptr<TreeFile> only_without_entries_;
  BranchTree branches_;  ///< of ROOT's tree
  std::int64_t n_entries_{};
  bool is_by_branch_{};                   ///< the branches were filled one by one
  std::vector<std::int64_t> of_holders_;  ///< entries then, as branches_.holders
  std::vector<FilledPlace> places_;       ///< of the branches with baskets
  std::vector<BranchWriter> writers_;     ///< the same
  RebuiltIndex index_;
  std::size_t n_parts_{};  ///< trees, or rows of trees, that were added
  std::vector<std::string> notes_;
  Reclustering reclustering_;
  bool joins_ = true;  ///< entries of the last tree were joined: those of the next may be as well
  std::unique_ptr<EntrySink> joined_;             ///< rewritten entries
  std::shared_ptr<const BranchLayouts> layouts_;  ///< of the first tree
  std::optional<std::string> record_;             ///< structure of the first tree's
  Bytes chunk_;
};

}  // namespace forkrun::root_io
