#pragma once

#include <memory>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/write/branch_of_root.hpp>
#include <forkrun/formats/ttree/write/tree_target.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

/// A file with a tree that ROOT writes.
class RootTarget : public TreeTarget {
 public:
  /// A new tree. `mode` update: in a file that is there. \throws OutputError
  RootTarget(const std::string& path, const std::string& tree, const std::string& title,
             Compression compression, OutputMode mode);
  /// A tree of the structure of another one, in its branches of these names. \throws OutputError
  RootTarget(const std::string& path, const std::string& tree_path, TTree& from,
             const std::vector<std::string>& branches, Compression compression,
             OutputMode mode = OutputMode::create);
  ~RootTarget() override;

  [[nodiscard]] RecordFile& file() override { return file_; }
  [[nodiscard]] OutputFile& output() { return file_; }
  [[nodiscard]] TTree& tree() { return *tree_; }
  /// Branches that only hold others.
  void set_holders(std::vector<TBranch*> holders) { holders_ = std::move(holders); }

  [[nodiscard]] BranchMaker& branches() override { return branches_; }
  void close(std::int64_t n_entries) override;
  void abandon() noexcept override { file_.abandon(); }

 private:
  OutputFile file_;
  std::string name_;  ///< of the tree's key
  std::unique_ptr<TTree> tree_;
  RootBranches branches_;
  std::vector<TBranch*> holders_;
};

}  // namespace forkrun::root_io
