#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <forkrun/formats/root_file/file_classes.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/layout/member_form.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

/// A branch of members of objects that a tree has split, of objects that it has not, or of leaves
/// that are more than plain numbers.
struct MemberBranch {
  std::string top;   ///< the branch of the tree itself within which it is, or that it is
  std::string name;  ///< as it is stored
  MemberForm form;
  std::shared_ptr<const EntryForm> of_leaves{};  ///< null: of objects
  bool has_offsets{};
  bool is_filled{};  ///< false if it was disabled when the tree was written
};

/// A column of members, or what is none.
struct MemberColumn {
  std::string top;
  std::size_t branch{};  ///< number among those of members
  BranchLayout layout;   ///< with the name of the column

  /// The values of a branch of the tree itself: of a list, a text, a set.
  [[nodiscard]] bool is_whole() const { return layout.name == top; }
};

/// The columns that the branches of members of a tree have, in their order.
class MemberColumns {
 public:
  MemberColumns() = default;
  using IsTaken = std::function<bool(const std::string&)>;
  using Classes = std::function<const FileClasses&()>;
  /// `is_taken`: names of the tree's own branches; `classes`: of the file, if they are needed. Of
  /// several columns of a name the first counts.
  MemberColumns(const std::vector<MemberBranch>& branches, const IsTaken& is_taken,
                const Classes& classes);

  [[nodiscard]] const std::vector<MemberColumn>& all() const { return columns_; }
  /// Null if there is none.
  [[nodiscard]] const MemberColumn* find(std::string_view name) const;

 private:
  void add(const MemberBranch& branch, const BranchLayout& begun, std::size_t number,
           EntryForm form);

  std::vector<MemberColumn> columns_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  ///< their number
};

/// Member branches of a tree in ROOT's memory, and their branches there.
struct MembersOfRoot {
  std::vector<MemberBranch> branches;
  std::vector<TBranch*> of_root;  ///< the same
};
[[nodiscard]] MembersOfRoot members_of(TTree& tree);

}  // namespace forkrun::root_io
