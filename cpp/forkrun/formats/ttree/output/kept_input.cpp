#include <forkrun/formats/ttree/output/kept_input.hpp>

#include <utility>

#include <TBranch.h>
#include <TFile.h>
#include <TObjArray.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/write/branch_samples.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::root_io {

namespace {

/// The place of a basket tells branches apart.
bool are_same(const StoredBranch& one, const StoredBranch& other) {
  return one.baskets.empty()
             ? other.baskets.empty()
             : !other.baskets.empty() && one.baskets.front().seek == other.baskets.front().seek;
}

/// Counters may differ in their sign, which their bytes do not show.
std::string described(const std::string& name, const std::string& form) {
  return name + ", " + (form.starts_with("uint") ? form.substr(1) : form);
}

}  // namespace

std::string described(TBranch& branch) { return described(branch.GetName(), form_of(branch)); }

std::string described(const BranchLayout& layout) {
  return described(layout.name, layout.described_form());
}

bool is_rewritten(TBranch& top, const std::function<bool()>& has_references) {
  return !is_relocatable(top) || (top.IsA() != TBranch::Class() && has_references());
}

SharedInput::SharedInput(const TreeSourceConfig& source, BasketCheck::Depth check,
                         std::function<void(std::size_t)> on_open)
    : source_{source}, check_{check}, on_open_{std::move(on_open)}, first_file_{source} {}

void SharedInput::open(std::uint32_t file) {
  const auto found = files_.find(file);
  if (found != files_.end() && file_ == &found->second) {
    return;
  }
  if (on_open_) {
    on_open_(file);
  }
  if (found != files_.end()) {
    file_ = &found->second;
    return;
  }
  if (files_.size() >= source_.most_open()) {
    files_.clear();
  }
  file_ = nullptr;
  auto& opened = files_.try_emplace(file, ++n_opened_, source_).first->second;
  opened.lane.open(file);
  if (const auto ranks = ranks_.find(file); ranks != ranks_.end()) {
    opened.ranks = ranks->second;
  }
  file_ = &opened;
}

/// Files without events may lack branches, and the tree.
std::uint32_t SharedInput::first_with_events() const {
  return static_cast<std::uint32_t>(forkrun::first_file(source_.clusters));
}

TreeLane& SharedInput::first_file() {
  const auto first = first_with_events();
  if (const auto found = files_.find(first); found != files_.end()) {
    return found->second.lane;
  }
  if (file_ != nullptr) {
    first_file_.open(first);
    return first_file_;
  }
  open(first);
  return file_->lane;
}

bool SharedInput::has_references() {
  for (std::size_t i = 0; !has_references_ && i < source_.files.size(); ++i) {
    if (!source_.clusters[i].empty() && TreeFile{source_.files[i]}.has_references()) {
      has_references_ = true;
    }
  }
  return has_references_.emplace(has_references_.value_or(false));
}

std::span<const KeptReader> SharedInput::readers(const BranchPlace& top) {
  const auto [at, is_new] = file_->readers.try_emplace(top);
  if (is_new) {
    at->second = made_readers(top);
    for (const auto& kept : at->second) {
      if (file_->ranks) {
        kept.reader->keep_only(file_->ranks);
      }
    }
  }
  return at->second;
}

std::vector<KeptReader> SharedInput::made_readers(const BranchPlace& top) {
  auto& lane = file_->lane;
  auto& file = lane.file();
  const auto& tree = lane.input_tree();
  std::vector<KeptReader> made;
  tree.require(top);
  if (tree.is_plain(top)) {
    auto reader = std::make_unique<BranchReader>(tree.branch(top), file);
    auto form = described(reader->layout());
    made.push_back({std::move(reader), std::move(form)});
    return made;
  }
  if (!file_->tree_of_root) {
    file_->tree_of_root = tree_of_root(lane.tree(), tree.name(), file);
  }
  auto& of_root = *branch_at(lane.tree(), top);
  if (!is_relocatable(of_root)) {
    throw InputError(file.path() + ": objects of branch \"" + top.name +
                     "\" cannot be copied as bytes, unlike those of the first file; process such "
                     "files apart");
  }
  for (auto* filled : all_branches(of_root).filled) {
    made.push_back(
        {std::make_unique<BranchReader>(stored_branch(*filled, *file_->tree_of_root, file), file),
         described(*filled)});
  }
  return made;
}

void SharedInput::forget() {
  if (!std::exchange(was_read_, false)) {
    return;
  }
  for (auto& [branch, readers] : file_->readers) {
    for (auto& reader : readers) {
      reader.reader->forget();
    }
  }
}

void KeptInput::set_kept(std::vector<KeptBranch> kept) {
  if (kept_.empty()) {
    kept_ = std::move(kept);
    generation_ = 0;
    files_.clear();
  }
}

void KeptInput::open(std::uint32_t file) {
  input_.open(file);
  if (generation_ == generation()) {
    return;
  }
  generation_ = generation();
  if (files_.size() > input_.config().most_open()) {
    files_.clear();
  }
  const auto [at, is_new] = files_.try_emplace(generation_);
  file_ = &at->second;
  if (is_new) {
    find_readers();
    check_places();
  }
}

void KeptInput::expect(std::span<const EntryRange> clusters) {
  if (file().is_local()) {
    return;
  }
  std::vector<StoredPart> parts;
  for (const auto& cluster : clusters) {
    for (const auto* kept : file_->readers) {
      kept->reader->add_parts(cluster.first, cluster.last, parts);
    }
  }
  file().expect(in_order(std::move(parts)));
}

void KeptInput::find_readers() {
  std::span<const KeptReader> within;
  for (const auto& kept : kept_) {
    if (kept.number == 0) {
      within = input_.readers(kept.top);
    }
    if (kept.number >= within.size() || within[kept.number].form != kept.form) {
      throw InputError(this->file().path() + ": branch " + kept.top.name +
                       " has another form than in the first file (" + kept.form +
                       "); process such files apart");
    }
    file_->readers.push_back(&within[kept.number]);
  }
}

/// Checks that readers belong to the branches' places, found by another way through the tree.
void KeptInput::check_places() const {
  const auto& tree = input_.lane().input_tree();
  std::map<BranchPlace, std::size_t> numbers;
  BranchPlaces places;
  for (const auto& name : tree.branch_names()) {
    numbers.emplace(places.next(name), numbers.size());
  }
  std::vector<TBranch*> within;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const auto& [top, number, form] = kept_[i];
    const auto at = numbers.at(top);
    if (!tree.is_plain(top) && number == 0) {
      auto* branch = this->tree().GetListOfBranches()->At(static_cast<int>(at));
      within = all_branches(static_cast<TBranch&>(*branch)).filled;
    }
    const auto& read = file_->readers[i]->reader->branch();
    if (!are_same(read, tree.is_plain(top) ? tree.branch(at)
                                           : stored_branch(*within[number], tree, file()))) {
      throw VerificationFailed(file().path() + ": branch \"" + top.name +
                               "\" is taken for another one; please report it, with the input");
    }
  }
}

const BasketCheck& KeptInput::check() {
  if (!file_->check) {
    BranchLayouts layouts;
    for (const auto* kept : file_->readers) {
      layouts.push_back(kept->reader->layout());
    }
    file_->check.emplace(std::make_shared<BranchLayouts>(std::move(layouts)), TreeBaskets{},
                         input_.lane().input_tree().name(), file(), input_.check());
  }
  return *file_->check;
}

}  // namespace forkrun::root_io
