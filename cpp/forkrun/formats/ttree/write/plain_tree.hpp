#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/ttree/layout/basket_lists.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>
#include <forkrun/formats/ttree/write/written_tree.hpp>

namespace forkrun::root_io {

/// Content of a branch that is being written.
struct BranchContent {
  std::int64_t n_bytes{};         ///< of baskets, uncompressed, with their keys
  std::int64_t n_stored_bytes{};  ///< of the same on file
  BranchBaskets list;
};

/// Writes the members of a TTree whose branches, in this order, have these contents.
void write_tree(ObjectWriter& to, const TreeMembers& tree, std::int64_t n_entries,
                const std::vector<BranchContent>& contents);

/// A tree of numbers, whose record forkrun writes.
class PlainTree final : public WrittenTree {
 public:
  /// `path`: with its folders. Branches of `members` are those of another tree; `compression`: of
  /// branches that are added.
  PlainTree(PlainFile& file, std::string path, TreeMembers members, Compression compression);
  ~PlainTree() override;
  PlainTree(const PlainTree&) = delete;
  PlainTree& operator=(const PlainTree&) = delete;

  [[nodiscard]] const TreeMembers& members() const { return members_; }
  [[nodiscard]] bool has(const std::string& branch) const override;
  /// A branch by its number. It must not outlive the tree.
  [[nodiscard]] std::unique_ptr<WrittenBranch> branch(std::size_t number);

  /// `column`: not nested.
  [[nodiscard]] std::unique_ptr<WrittenBranch> add(const NewBranch& column) override;
  [[nodiscard]] std::unique_ptr<WrittenBranch> add_counter(const std::string& name) override;

  void write(std::int64_t n_entries) override;

 private:
  class Branch;

  [[nodiscard]] std::unique_ptr<WrittenBranch> add(BranchMembers branch);
  [[nodiscard]] std::size_t count_with(const std::string& counter);
  void include_range(std::size_t branch, std::size_t leaf, const LeafRange& range);

  PlainFile& file_;
  std::string path_;
  TreeMembers members_;
  Compression compression_;
  std::vector<BranchContent> contents_;
};

/// All of a tree's branches that have these names, and of their counters. \throws OutputError if
/// it has none of some name.
[[nodiscard]] TreeMembers with_branches(TreeMembers tree, const std::vector<std::string>& names);

/// The same, for new baskets that are compressed so.
[[nodiscard]] TreeMembers with_compression(TreeMembers tree, Compression compression);

/// To add to a file: nullptr unless PlainFile has written it, with nothing but trees of numbers in
/// its top folder. \throws OutputError
[[nodiscard]] std::unique_ptr<PlainFile> reopen_with_trees(const std::string& path);

}  // namespace forkrun::root_io
