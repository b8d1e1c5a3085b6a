#include <forkrun/formats/ttree/write/root_target.hpp>

#include <TBranch.h>
#include <TFile.h>
#include <TTree.h>

#include <forkrun/formats/ttree/write/output_schema.hpp>

namespace forkrun::root_io {

namespace {

std::unique_ptr<TTree> new_tree(OutputFile& file, const std::string& name,
                                const std::string& title) {
  file.file().cd();
  return std::make_unique<TTree>(name.c_str(), title.c_str(), 99, &file.file());
}

}  // namespace

RootTarget::RootTarget(const std::string& path, const std::string& tree, const std::string& title,
                       Compression compression, OutputMode mode)
    : file_{path, compression, mode},
      name_{tree},
      tree_{new_tree(file_, tree, title)},
      branches_{*tree_} {}

RootTarget::RootTarget(const std::string& path, const std::string& tree_path, TTree& from,
                       const std::vector<std::string>& branches, Compression compression,
                       OutputMode mode)
    : file_{path, compression, mode},
      name_{tree_path.substr(tree_path.rfind('/') + 1)},
      tree_{&copy_structure(from, branches, file_.folder_of(tree_path))},
      branches_{*tree_} {}

RootTarget::~RootTarget() = default;

void RootTarget::close(std::int64_t n_entries) {
  for (auto* holder : holders_) {
    holder->SetEntries(n_entries);
  }
  tree_->SetEntries(n_entries);
  file_.write_and_release(*tree_, name_);
  file_.close();
}

}  // namespace forkrun::root_io
