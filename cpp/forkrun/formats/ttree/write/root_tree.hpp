#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
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

/// A top-level branch that ROOT fills with what it reads from another branch of the same form, as
/// bytes of entries mean something else in another basket. forkrun writes its baskets, as all are.
class FilledBranch {
 public:
  /// `within`: those that have baskets, itself among them; `writers`: of these, which must stay
  /// where they are as long as the tree.
  FilledBranch(TBranch& branch, std::span<TBranch* const> within, std::span<BranchWriter> writers,
               OutputFile& file)
      : branch_{branch}, within_{within}, writers_{writers}, file_{file} {}

  /// Entries are read from this branch, of the file at `path`.
  void open(TBranch& from, const std::string& path);
  /// \throws InputError, OutputError naming the branch that ROOT cannot read or fill
  void add(std::span<const EntryRange> entries);
  /// Writes the baskets that are not full.
  void flush();
  /// The writers of those that have baskets in the file, in their order; null: ROOT has added one.
  [[nodiscard]] std::vector<const BranchWriter*> written() const;

 private:
  void take_over_baskets();

  TBranch& branch_;
  std::span<TBranch* const> within_;
  std::span<BranchWriter> writers_;
  OutputFile& file_;
  TBranch* from_{};
  std::string path_;
};

/// A new tree, whose record forkrun writes if it writes the file, else ROOT. `path`: with its
/// folders; `compression`: of its branches. \throws OutputError
[[nodiscard]] std::unique_ptr<WrittenTree> new_tree(RecordFile& file, const std::string& path,
                                                    const std::string& title,
                                                    Compression compression);

/// Opens a file that ROOT writes, or forkrun if the tree `is_plain`, and so is what the file has.
/// \throws OutputError
[[nodiscard]] std::unique_ptr<RecordFile> open_to_write(const std::string& path,
                                                        Compression compression, OutputMode mode,
                                                        bool is_plain);

}  // namespace forkrun::root_io
