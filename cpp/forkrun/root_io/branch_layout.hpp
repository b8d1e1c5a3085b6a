#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

/// How the entries of a branch lie in its baskets.
struct BranchLayout {
  std::string name;
  std::optional<ColumnType> column;  ///< none: cannot be read as a column
  std::string type_name;             ///< for people, and to compare files
  std::string counter;               ///< name of the counting branch, "" if none
  std::size_t header_bytes{};        ///< before the values of each entry (std::vector: 10)
  bool has_offsets{};                ///< entries differ in size
  /// Entries are ranges of bytes that mean the same in any basket, so they can be copied unread.
  bool relocatable{};

  /// The column type's name, or "other:<type_name>".
  [[nodiscard]] std::string described_type() const;
};

/// The top-level branch of this name, nullptr if there is none.
[[nodiscard]] TBranch* branch_named(TTree& tree, const std::string& name);

[[nodiscard]] BranchLayout layout_of(TBranch& branch);
/// Of all top-level branches, in their order.
[[nodiscard]] std::vector<BranchLayout> layouts_of(TTree& tree);

}  // namespace forkrun::root_io
