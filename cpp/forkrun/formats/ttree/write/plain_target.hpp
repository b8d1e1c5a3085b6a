#pragma once

#include <memory>
#include <string>
#include <utility>

#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>
#include <forkrun/formats/ttree/write/tree_target.hpp>

namespace forkrun::root_io {

/// A file with one tree, of branches of numbers, that is written without ROOT.
class PlainTarget : public TreeTarget {
 public:
  /// `tree`: its path. \throws OutputError
  PlainTarget(const std::string& path, const std::string& tree, TreeMembers members,
              Compression compression)
      : PlainTarget{std::make_unique<PlainFile>(path, compression), tree, std::move(members),
                    compression} {}
  PlainTarget(std::unique_ptr<PlainFile> file, const std::string& tree, TreeMembers members,
              Compression compression)
      : file_{std::move(file)}, tree_{tree, std::move(members), compression} {}

  [[nodiscard]] RecordFile& file() override { return *file_; }
  [[nodiscard]] PlainTree& tree() { return tree_; }
  [[nodiscard]] BranchMaker& branches() override { return tree_; }
  void close(std::int64_t n_entries) override {
    tree_.write(*file_, n_entries);
    file_->close();
  }
  void abandon() noexcept override { file_->abandon(); }

 private:
  std::unique_ptr<PlainFile> file_;
  PlainTree tree_;
};

}  // namespace forkrun::root_io
