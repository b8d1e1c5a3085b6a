#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/root_io/branch_layout.hpp>
#include <forkrun/root_io/merge/basket_check.hpp>
#include <forkrun/root_io/read/input_file.hpp>
#include <forkrun/root_io/write/branch_writer.hpp>
#include <forkrun/root_io/write/output_file.hpp>

class TTree;

namespace forkrun::root_io {

/// Joins trees of one structure, in the order in which they are added, by copying their baskets as
/// they are: large reads, large writes, nothing uncompressed unless that is asked for. That holds
/// for branches of objects and those within them as well. Trees with references between objects are
/// copied by ROOT, after the same checks.
class TreeMerger {
 public:
  /// `path`: of the tree in the file, with its folders; `recompress`: write all baskets anew with
  /// this compression.
  TreeMerger(OutputFile& output, std::string path, std::optional<Compression> recompress,
             BasketCheck::Depth check);

  /// \throws InputError naming the branches in which the tree differs from the first one, or the
  /// basket that is damaged.
  void add(TTree& tree, InputFile& file);
  /// The merged tree is complete; gives its entries.
  std::int64_t finish();

 private:
  void start(TTree& tree);
  void check_structure(TTree& tree, const InputFile& file) const;
  void include_ranges(const BranchTree& from);
  void copy(TTree& tree, InputFile& file, const BranchTree& branches);
  void copy_by_root(TTree& tree, const InputFile& file);
  void check_baskets(InputFile& file, const BasketCheck& check,
                     std::span<const BasketPlace> places);
  void copy_baskets(InputFile& file, const BranchTree& branches, const BasketCheck& check,
                    std::span<const BasketPlace> places);
  void copy_chunk(InputFile& file, const BasketCheck& check, std::span<const BasketPlace> chunk);
  void recompress(std::span<const BasketPlace> chunk,
                  std::span<const std::span<const std::byte>> records);
  void rewrite(const BranchTree& branches, InputFile& file, const BasketPlace& place);
  void rewrite_all(InputFile& file, const BranchTree& branches, std::int64_t n_entries);

  /// A basket that is on file, and not yet in its branch.
  struct Written {
    BasketHeader header;
    std::int64_t place{};
  };

  OutputFile& output_;
  std::string path_;
  std::optional<Compression> recompress_;
  BasketCheck::Depth check_;
  TTree* tree_ = nullptr;
  std::string first_path_;
  std::vector<std::string> names_;
  BranchTree branches_;
  std::int64_t n_entries_{};
  std::vector<BranchWriter> writers_;                                ///< as branches_.filled
  std::map<std::pair<std::size_t, std::int64_t>, Written> written_;  ///< by branch, first entry
  Bytes chunk_;
};

}  // namespace forkrun::root_io
