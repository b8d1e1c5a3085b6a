#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>
#include <forkrun/formats/ttree/output/kept_input.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/relations.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>
#include <forkrun/formats/ttree/write/written_tree.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

class OutputFile;
class PlainFile;

/// A branch whose entries are copied as bytes, and where they are written.
struct KeptTarget {
  KeptBranch branch;
  int compression{};  ///< ROOT's number, in the first file
  std::unique_ptr<WrittenBranch> target;
};

/// The file of an output, with what its tree takes from the input: forkrun writes trees of numbers,
/// ROOT all others, in which it also fills the branches whose bytes cannot be copied.
class OutputTarget {
 public:
  /// \throws InputError, OutputError
  OutputTarget(const std::string& path, KeptInput& input, const OutputContent& content);
  /// In a file of which it is a part, and which is not closed. `input`: null if nothing is kept.
  OutputTarget(RecordFile& file, KeptInput* input, const OutputContent& content);
  /// Whether ROOT has to write the tree.
  [[nodiscard]] static bool needs_root(KeptInput* input, const OutputContent& content);
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  [[nodiscard]] RecordFile& file() { return *file_; }
  [[nodiscard]] WrittenTree& tree() { return *tree_; }
  /// The branches whose entries are copied as bytes; given once.
  [[nodiscard]] std::vector<KeptTarget> take_kept() { return std::move(kept_); }
  /// Another file of the input is open.
  void open();
  /// Adds entries to the branches that ROOT fills.
  void fill(std::span<const EntryRange> entries);
  /// All entries are there: writes the tree, and closes the file.
  void finish(std::int64_t n_entries);
  /// Removes the file.
  void abandon() noexcept;
  /// Samples of the branches that ROOT fills.
  [[nodiscard]] std::span<const SampledBranch> sampled() const { return sampled_; }

 private:
  void add_tree(const OutputContent& content);
  void add_plain_tree(const OutputContent& content);
  void add_root_tree(const OutputContent& content);
  void add_filled(const BranchPlace& place, TBranch& branch, Compression compression);
  void finish_root_tree(std::int64_t n_entries);

  KeptInput* input_;
  std::unique_ptr<RecordFile> own_file_;
  RecordFile* file_;
  std::unique_ptr<WrittenTree> tree_;
  std::vector<KeptTarget> kept_;
  bool keeps_objects_{};
  // For outputs written by ROOT:
  OutputFile* root_file_{};
  TTree* root_tree_{};
  RebuiltIndex index_;
  struct Filled {
    BranchPlace place;
    std::vector<TBranch*> within;
    std::vector<BranchWriter> writers;
    FilledBranch branch;
  };
  std::vector<Filled> filled_;
  std::vector<SampledBranch> sampled_;
  std::vector<TBranch*> holders_;  ///< kept branches that only hold others
};

/// Copies the first entries of top-level branches as outputs do where ROOT has to rewrite them, to
/// see whether it can: without the dictionary of a class it may crash. `scratch`: path of a file
/// that is written, and removed. \throws InputError, OutputError
void try_copy(const std::string& path, const std::string& tree,
              const std::vector<std::string>& branches, const std::string& scratch);

}  // namespace forkrun::root_io
