#include <forkrun/formats/ttree/output/trial_copy.hpp>

#include <algorithm>
#include <cstdint>

#include <TBranch.h>
#include <TList.h>
#include <TObjArray.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

namespace forkrun::root_io {

namespace {

void copy_entries(TTree& from, TTree& to) {
  constexpr std::int64_t n_most = 16;
  BranchPlaces places;
  for (TObject* object : *to.GetListOfBranches()) {
    auto& copy = static_cast<TBranch&>(*object);
    auto& branch = *branch_at(from, places.next(copy.GetName()));
    if (branch.IsA() == TBranch::Class()) {
      continue;  // it counts
    }
    share_address(branch, copy);
    for (std::int64_t entry = 0; entry < std::min<std::int64_t>(n_most, branch.GetEntries());
         ++entry) {
      if (branch.GetEntry(entry, 1) < 0 || copy.Fill() < 0) {
        throw InputError(std::string{"branch \""} + copy.GetName() + "\" cannot be copied");
      }
    }
  }
}

}  // namespace

void try_copy(const std::string& path, const std::string& tree,
              const std::vector<std::string>& branches, const std::string& scratch) {
  const TreeFile file{path};
  OutputFile output{scratch, file.compression()};
  try {
    const CapturedMessages messages;
    auto& from = file.tree(tree);
    RootTree copy{output, output.folder(""), "trial", from, branches};
    copy_entries(from, copy.tree());
    if (!messages.first_error().empty()) {  // ROOT goes on, without the object
      throw InputError(messages.first_error());
    }
    copy.write(0);
  } catch (...) {
    output.abandon();
    throw;
  }
  output.abandon();
}

}  // namespace forkrun::root_io
