#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/table/row_origins.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/merge/joined_entries.hpp>
#include <forkrun/formats/ttree/merge/reclustering.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>

namespace forkrun::root_io {

/// Joins trees of numbers of one structure, in the order in which they are added: by copying their
/// baskets as they are, after a check, or by writing their entries anew.
class PlainTreeMerger {
 public:
  PlainTreeMerger(PlainFile& output, std::string path, const BasketTreatment& treatment,
                  BasketCheck::Depth check)
      : output_{output},
        path_{std::move(path)},
        compression_{treatment.compression},
        check_{check},
        reclustering_{treatment},
        joined_{writers_, output} {}

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Gives the entries of the tree in this file; none if ROOT has to look at it, or its structure
  /// is another than that of the first. \throws InputError naming the basket that is damaged.
  [[nodiscard]] std::optional<std::int64_t> add(TreeFile& file);
  /// These rows of it alone.
  [[nodiscard]] std::optional<std::int64_t> add_rows(TreeFile& file,
                                                     std::span<const RowRange> rows);
  [[nodiscard]] std::int64_t n_entries() const { return n_entries_; }
  [[nodiscard]] const Reclustering& reclustering() const { return reclustering_; }
  /// The merged tree is complete; gives its entries. \throws OutputError
  std::int64_t finish();
  /// Compares the complete file with samples of the inputs. \throws WrittenOtherwise
  void check(const std::string& path) const {
    check_samples(path, path_, sampled(places_, writers_), 1);
  }

 private:
  [[nodiscard]] std::optional<TreeRecord> take_record(TreeFile& file);
  void start(TreeFile& file, TreeRecord& record);
  void include_ranges(const TreeRecord& record);
  void copy(TreeFile& file, const BasketCheck& check, std::span<const BasketPlace> places);
  void rewrite(TreeFile& file, const BasketPlace& place);
  void join(TreeFile& file, const BasketCheck& check, std::span<const RowRange> rows);

  PlainFile& output_;
  std::string path_;
  Compression compression_;
  BasketCheck::Depth check_;
  std::unique_ptr<PlainTree> tree_;
  std::string structure_;  ///< of the first tree
  std::shared_ptr<const BranchLayouts> layouts_;
  std::vector<FilledPlace> places_;
  std::vector<BranchWriter> writers_;  ///< of these
  Reclustering reclustering_;
  JoinedEntries joined_;
  std::int64_t n_entries_{};
  Bytes chunk_;
};

}  // namespace forkrun::root_io
