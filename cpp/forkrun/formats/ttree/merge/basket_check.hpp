#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

/// Layouts of branches with baskets, for the check of these.
using BranchLayouts = std::vector<BranchLayout>;
[[nodiscard]] BranchLayouts layouts_of(const std::vector<TBranch*>& branches);

/// Where the tree says that a basket is, and what it says of it.
struct BasketPlace {
  std::size_t branch{};  ///< as in the list of branches that the check was made with
  int number{};
  std::int64_t seek{};  ///< 0: kept within the tree's own record
  std::int64_t n_bytes{};
  std::int64_t first_entry{};
  std::int64_t n_entries{};
};

/// Proves that the baskets of a tree are what the tree says of them, before they are copied.
/// Baskets that Zstandard compressed have no checksum: what can be seen without uncompressing them
/// is whether all sizes, places, names and numbers of entries agree. Of a file on a server, where
/// bytes may be damaged on their way, contents are always checked.
class BasketCheck {
 public:
  enum class Depth {
    headers,   ///< of the records, and of the compressed blocks in them
    contents,  ///< each basket is uncompressed, and what it holds is compared with its type
  };

  /// `branches`: those of a tree that have baskets.
  BasketCheck(TTree& tree, const std::vector<TBranch*>& branches, const TreeFile& file,
              Depth depth);
  /// `layouts`: of the branches whose baskets these are.
  BasketCheck(std::shared_ptr<const BranchLayouts> layouts, TreeBaskets baskets,
              const std::string& tree_name, const TreeFile& file, Depth depth);

  /// All baskets, branch by branch. \throws InputError if a branch has not as many entries as the
  /// tree, if they are not one after the other, or if baskets are not within the file.
  [[nodiscard]] std::vector<BasketPlace> places() const;

  /// \throws InputError naming file, tree, branch and basket.
  BasketHeader check(const BasketPlace& place, std::span<const std::byte> record) const;
  /// Checks baskets in memory, in parallel where that is worth it. Records are in order of places.
  [[nodiscard]] std::vector<BasketHeader> check(
      std::span<const BasketPlace> places,
      std::span<const std::span<const std::byte>> records) const;

 private:
  void add_places(std::size_t branch, std::vector<BasketPlace>& places) const;
  void check_place(const BasketPlace& place, bool is_in_tree) const;
  void check_header(const BasketPlace& place, const BasketHeader& header,
                    std::span<const std::byte> record) const;
  void check_contents(const BasketPlace& place, std::span<const std::byte> record) const;
  [[noreturn]] void fail(const BasketPlace& place, const std::string& why) const;
  [[noreturn]] void fail(std::size_t branch, const std::string& why) const;

  std::shared_ptr<const BranchLayouts> layouts_;
  TreeBaskets baskets_;
  std::string where_;  ///< the file and the tree
  std::int64_t file_size_{};
  Depth depth_;
};

}  // namespace forkrun::root_io
