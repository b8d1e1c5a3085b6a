#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/root_io/branch_writer.hpp>
#include <forkrun/root_io/input_file.hpp>
#include <forkrun/root_io/output_file.hpp>
#include <forkrun/root_io/stored_baskets.hpp>

class TTree;

namespace forkrun::root_io {

/// Joins trees of one structure, in the order in which they are added, by copying their baskets as
/// they are: large reads, large writes, nothing uncompressed.
class TreeMerger {
 public:
  /// `path`: of the tree in the file, with its folders; `recompress`: write all baskets anew with
  /// this compression.
  /// `verify`: uncompress each basket that is copied, to see that it can be read.
  TreeMerger(OutputFile& output, std::string path, std::optional<Compression> recompress,
             bool verify = false);

  /// \throws InputError naming the branches in which the tree differs from the first one.
  void add(TTree& tree, InputFile& file);
  /// The merged tree is complete; gives its entries.
  std::int64_t finish();

 private:
  struct BasketPlace : StoredBasket {
    std::size_t branch{};
    BasketHeader header;       ///< once read
    std::int64_t new_place{};  ///< once written
  };

  void start(TTree& tree);
  void check_structure(TTree& tree, const InputFile& file) const;
  void include_ranges(TTree& tree);
  void copy_baskets(TTree& tree, InputFile& file);
  [[nodiscard]] std::vector<BasketPlace> places_of(TTree& tree, const InputFile& file) const;
  void copy_chunk(InputFile& file, std::span<BasketPlace> chunk);
  void rewrite(TTree& tree, InputFile& file, std::size_t branch, std::int64_t first);
  void rewrite_all(TTree& tree, InputFile& file);

  OutputFile& output_;
  std::string path_;
  std::optional<Compression> recompress_;
  TTree* tree_ = nullptr;
  std::string first_path_;
  std::vector<std::string> names_;
  bool is_relocatable_ = true;
  std::int64_t n_entries_{};
  std::vector<BranchWriter> writers_;
  Bytes chunk_;
  bool verify_;
  Bytes verified_memory_;
  Basket verified_;
};

}  // namespace forkrun::root_io
