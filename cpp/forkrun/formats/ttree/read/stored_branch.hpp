#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/basket_lists.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

class TreeFile;
struct StoredBranch;

/// A basket as the tree describes it.
struct StoredBasket {
  int number{};
  std::int64_t first_entry{};
  std::int64_t n_entries{};
  std::int64_t seek{};  ///< place in the file; 0: it is kept within the tree's own record
  std::int32_t n_bytes{};
};

/// The baskets of a branch in the order of their entries; empty ones are left out. Every number is
/// checked against the size of the file. \throws InputError
[[nodiscard]] std::vector<StoredBasket> checked_baskets(const BranchBaskets& listed,
                                                        const std::string& branch,
                                                        const TreeFile& file);

/// The header of what is in the file where the tree says that a basket is. \throws Error if it is
/// another basket, or a damaged one.
[[nodiscard]] BasketHeader checked_header(std::span<const std::byte> record,
                                          const StoredBasket& basket, const StoredBranch& branch);

/// `what`, with the names of file, branch and first entry of the basket.
[[nodiscard]] std::string at_basket(const TreeFile& file, const std::string& branch,
                                    std::int64_t first_entry, const std::string& what);
/// \throws InputError
[[noreturn]] void throw_damaged(const TreeFile& file, const std::string& branch,
                                std::int64_t first_entry, const std::string& what);

class TreeFile;
class InputTree;

/// A branch on file: all that reading it needs.
struct StoredBranch : ToldBranch {
  const InputTree* tree{};
  std::vector<StoredBasket> baskets{};
  std::string stored_name{};  ///< of a column within it: its own; else ""

  /// Whether its baskets have checksums; those that compression does not make smaller have none.
  [[nodiscard]] bool has_checksums() const {
    return Compression::of_settings(compression).has_checksum();
  }
};

/// Baskets of branches that ROOT has read, unchecked.
[[nodiscard]] TreeBaskets baskets_of(TTree& tree, const std::vector<TBranch*>& branches);

/// A branch that ROOT has read. \throws InputError if its account of the baskets is impossible.
[[nodiscard]] StoredBranch stored_branch(TBranch& branch, const InputTree& tree,
                                         const TreeFile& file);

}  // namespace forkrun::root_io
