#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/write/written_tree.hpp>

class TBranch;
class TDirectory;
class TTree;

namespace forkrun::root_io {

/// A tree whose record ROOT writes, for branches of objects.
class RootTree final : public WrittenTree {
 public:
  /// A tree without branches, whose record follows all else in the file. \throws OutputError
  RootTree(OutputFile& file, const std::string& path, const std::string& title);
  /// An empty copy, in a folder of the file, of a tree with all branches of these names, and the
  /// counters that they need. `key`: name of its key, which need not be its own.
  /// \throws OutputError
  RootTree(OutputFile& file, TDirectory& folder, std::string key, TTree& from,
           const std::vector<std::string>& branches);
  ~RootTree() override;

  [[nodiscard]] TTree& tree() { return *tree_; }
  [[nodiscard]] bool has(const std::string& branch) const override;
  [[nodiscard]] std::unique_ptr<WrittenBranch> add(const NewBranch& column) override;
  [[nodiscard]] std::unique_ptr<WrittenBranch> add_counter(const std::string& name) override;
  /// One of its branches, or a branch within one of them.
  [[nodiscard]] static std::unique_ptr<WrittenBranch> branch(TBranch& branch);
  void write(std::int64_t n_entries) override;

 private:
  OutputFile& file_;
  std::string key_;  ///< "": the tree belongs to the file once it is complete
  std::unique_ptr<TTree> tree_;
};

/// Shares the objects that one branch reads with another branch of the same form, which fills them.
void share_address(TBranch& from, TBranch& to);

/// A new tree, whose record forkrun writes if it writes the file, else ROOT. `path`: with its
/// folders; `compression`: of its branches. \throws OutputError
[[nodiscard]] std::unique_ptr<WrittenTree> new_tree(RecordFile& file, const std::string& path,
                                                    const std::string& title,
                                                    Compression compression);

/// Opens a file for additions: by forkrun where it can, else by ROOT. \throws OutputError
[[nodiscard]] std::unique_ptr<RecordFile> open_for_additions(const std::string& path,
                                                             Compression compression);

}  // namespace forkrun::root_io
