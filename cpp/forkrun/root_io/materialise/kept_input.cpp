#include <forkrun/root_io/materialise/kept_input.hpp>

#include <TBranch.h>
#include <TFile.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

std::string described(TBranch& branch) {
  return std::string{branch.GetName()} + ", " + form_of(branch);
}

bool is_written_anew(TBranch& top, const InputFile& file) {
  const bool has_references = file.file().GetNProcessIDs() > 0;  // numbered by file
  return !is_relocatable(top) || (has_references && top.IsA() != TBranch::Class());
}

KeptInput::KeptInput(const TreeSourceConfig& source, BasketCheck::Depth check,
                     std::function<void(std::size_t)> on_open)
    : lane_{source}, first_file_{source}, depth_{check}, on_open_{std::move(on_open)} {}

void KeptInput::open_lane(std::uint32_t file) {
  if (lane_.generation() > 0 && file == file_) {
    return;
  }
  if (on_open_) {
    on_open_(file);
  }
  lane_.open(file);
  file_ = file;
}

TreeLane& KeptInput::first_file() {
  if (lane_.generation() > 0 && file_ != 0) {
    first_file_.open(0);
    return first_file_;
  }
  open_lane(0);
  return lane_;
}

void KeptInput::set_kept(std::vector<KeptBranch> kept, bool compares_forms) {
  if (kept_.empty()) {
    kept_ = std::move(kept);
    compares_forms_ = compares_forms;
    readers_generation_ = 0;
  }
}

void KeptInput::open(std::uint32_t file) {
  open_lane(file);
  if (readers_generation_ == lane_.generation()) {
    return;
  }
  readers_generation_ = lane_.generation();
  readers_.clear();
  std::vector<TBranch*> branches;
  BranchTree all;
  for (const auto& kept : kept_) {
    if (kept.number == 0) {
      all = all_branches(find_branch(tree(), kept.name, lane_.file()));
    }
    if (kept.number >= all.filled.size() ||
        (compares_forms_ && described(*all.filled[kept.number]) != kept.form)) {
      throw InputError(lane_.file().path() + ": branch " + kept.name +
                       " has another form than in the first file (" + kept.form +
                       "); process such files apart");
    }
    readers_.push_back(std::make_unique<BranchReader>(*all.filled[kept.number], lane_.file()));
    branches.push_back(all.filled[kept.number]);
  }
  check_.emplace(std::make_shared<BranchForms>(branches), baskets_of(tree(), branches),
                 tree().GetName(), lane_.file(), depth_);
}

void KeptInput::forget() {
  for (auto& reader : readers_) {
    reader->forget();
  }
}

}  // namespace forkrun::root_io
