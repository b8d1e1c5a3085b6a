#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/member_columns.hpp>
#include <forkrun/formats/ttree/read/stored_branch.hpp>

class TTree;

namespace forkrun::root_io {

class TreeFile;
struct TreeRecord;

/// A tree of a file: what it says of its own branches, and of columns that are within these.
class InputTree {
 public:
  InputTree(const InputTree&) = delete;
  InputTree& operator=(const InputTree&) = delete;
  virtual ~InputTree() = default;

  /// Its path in the file, as it was asked for: its own name may be another.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] virtual std::int64_t n_entries() const = 0;
  [[nodiscard]] virtual std::vector<std::string> branch_names() const = 0;
  [[nodiscard]] virtual bool has(const BranchPlace& place) const = 0;
  [[nodiscard]] bool has(const std::string& branch) const { return has(BranchPlace{branch}); }
  /// Whether a branch that there is has leaves of numbers or characters, and no ROOT was needed to
  /// read it.
  [[nodiscard]] virtual bool is_plain(const BranchPlace& place) const = 0;
  /// Whether there is such a branch or, within one, such a column.
  [[nodiscard]] bool has_column(const std::string& name) const;
  /// The first branch of this name; also a column within another branch: a leaf of a list,
  /// "branch.leaf", or members of objects. \throws InputError with the nearest name if
  /// there is none.
  [[nodiscard]] StoredBranch branch(const std::string& name) const {
    return branch(BranchPlace{name});
  }
  [[nodiscard]] StoredBranch branch(const BranchPlace& place) const;
  /// Like `branch`, with the values of a list, text or set of numbers stored as an object.
  [[nodiscard]] StoredBranch column(const std::string& name) const;
  /// \throws InputError with the nearest name if there is no such branch.
  void require(const BranchPlace& place) const;
  /// Columns of members within its branches. Any thread.
  [[nodiscard]] const MemberColumns& members() const;
  /// By its number among all of them. \throws InputError
  [[nodiscard]] virtual StoredBranch branch(std::size_t number) const = 0;
  /// Whether friends are stored with it.
  [[nodiscard]] virtual bool has_friends() const = 0;
  /// Whether objects of the user are stored with it that ROOT has not read yet.
  [[nodiscard]] virtual bool has_user_objects() const = 0;
  /// In their order. \throws InputError
  [[nodiscard]] std::vector<StoredBranch> branches() const;

 protected:
  InputTree(std::string name, const TreeFile& file) : name_{std::move(name)}, file_{file} {}
  [[nodiscard]] const TreeFile& file() const { return file_; }
  /// The branch at a place that exists.
  [[nodiscard]] virtual StoredBranch found(const BranchPlace& place) const = 0;
  /// Branches of members, in their order.
  [[nodiscard]] virtual std::vector<MemberBranch> member_branches() const = 0;
  /// By its number among these.
  [[nodiscard]] virtual StoredBranch member_branch(std::size_t number) const = 0;

 private:
  [[nodiscard]] std::optional<StoredBranch> member(const std::string& name) const;

  std::string name_;
  const TreeFile& file_;
  mutable std::once_flag members_once_;
  mutable MemberColumns members_;  ///< made when first asked for
};

/// A tree that ROOT has read.
[[nodiscard]] std::unique_ptr<InputTree> tree_of_root(TTree& tree, std::string name,
                                                      const TreeFile& file);

/// A tree from its record, without ROOT: needs `record.tops`. nullptr if its numbers of entries are
/// impossible: ROOT has to look.
[[nodiscard]] std::unique_ptr<InputTree> tree_of_record(TreeRecord record, std::string name,
                                                        const TreeFile& file);

/// "tree (file)" of the friends that are stored with a tree.
[[nodiscard]] std::vector<std::string> stored_friends(TTree& tree);

}  // namespace forkrun::root_io
