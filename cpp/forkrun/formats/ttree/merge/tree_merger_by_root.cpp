#include <forkrun/formats/ttree/merge/tree_merger.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <TBranch.h>
#include <TBranchElement.h>
#include <TBranchObject.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TKey.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/object_record.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/stored_friends.hpp>
#include <forkrun/formats/ttree/write/relations.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

// What ROOT does of a merge of trees: it reads the first one, and all that records do not tell.
namespace forkrun::root_io {

namespace {

/// Baskets of branches of these classes can be copied whole; others have branches that are in no
/// list.
bool are_known(const BranchTree& branches) {
  for (const auto& group : {branches.filled, branches.holders}) {
    for (const auto* branch : group) {
      if (branch->IsA() != TBranch::Class() && branch->IsA() != TBranchElement::Class() &&
          branch->IsA() != TBranchObject::Class()) {
        return false;
      }
    }
  }
  return true;
}

bool has_objects(const BranchTree& branches) {
  return std::ranges::any_of(branches.filled,
                             [](auto* branch) { return branch->IsA() != TBranch::Class(); });
}

/// Whether ROOT fills the branch with the bytes that it has read.
bool has_numbers_alone(TBranch& branch) {
  if (branch.IsA() != TBranch::Class()) {
    return false;
  }
  const std::set<std::string_view> exact{"TLeafB", "TLeafS", "TLeafI", "TLeafL", "TLeafG",
                                         "TLeafF", "TLeafD", "TLeafO", "TLeafC"};
  for (const TObject* leaf : *branch.GetListOfLeaves()) {
    if (!exact.contains(leaf->ClassName())) {
      return false;
    }
  }
  return true;
}

/// Objects may point to each other: by numbers that belong to their file.
bool may_have_references(const InputFile& file, const BranchTree& branches) {
  return file.file().GetNProcessIDs() > 0 && has_objects(branches);
}

/// Whether entries can be taken as bytes.
bool are_relocatable(const BranchTree& branches) {
  return std::ranges::all_of(branches.filled,
                             [](auto* branch) { return has_relocatable_entries(*branch); });
}

/// \throws InputError if bytes of objects would mean something else in a file of today's version:
/// ROOT reads some by the version of the file that they are in.
void check_version(const InputFile& file, const BranchTree& branches) {
  const auto version = file.file().GetVersion();
  for (auto* branch : branches.filled) {
    auto* element = dynamic_cast<TBranchElement*>(branch);
    if (element != nullptr && depends_on_file_version(*element, version)) {
      throw InputError(file.path() + ": objects of branch \"" + branch->GetName() +
                       "\" have a form that only files of old ROOT may have: write this tree anew"
                       " with ROOT and the classes of its objects, or merge without it (--trees)");
    }
  }
}

/// Whether ROOT has to copy it, as entries cannot be taken as bytes.
bool needs_root(TTree& tree, const InputFile& file, const BranchTree& branches,
                std::span<const BasketPlace> places) {
  const bool is_all_on_file =
      std::ranges::all_of(places, [](const auto& place) { return place.seek != 0; });
  return tree.GetBranchRef() != nullptr || may_have_references(file, branches) ||
         !(are_relocatable(branches) || is_all_on_file);
}

/// None if ROOT has to read it.
std::optional<TreeRecord> record_of(TreeFile& file, const TKey& key, const std::string& path) {
  const auto object = read_object(file, key, path);
  return object.type == "TTree" ? parse_tree_record(object.bytes, object.key_length) : std::nullopt;
}

}  // namespace

std::optional<TreeRecord> TreeMerger::record_beside_root(TreeFile& file, const TKey& key) const {
  if (!record_ || may_have_references(file, branches_)) {
    return {};
  }
  check_version(file, branches_);
  auto record = record_of(file, key, path_);
  return record && (!record->has_baskets || has_own_branches_alone()) ? std::move(record)
                                                                      : std::nullopt;
}

/// Objects of that file are copied as bytes.
void TreeMerger::describe_classes_of(const TreeFile& file, const BranchTree& branches) {
  if (has_objects(branches)) {
    output_.root->describe_classes_of(file);
  }
}

bool TreeMerger::has_own_branches_alone() const {
  return root_tree_ == nullptr || (!has_objects(branches_) && branches_.holders.empty() &&
                                   root_tree_->GetListOfBranches()->GetEntriesFast() ==
                                       static_cast<int>(branches_.filled.size()));
}

void TreeMerger::start(TTree& tree, const TreeFile& file, const BranchTree& branches) {
  structure_.begin(tree, branches, file.path());
  auto made = std::make_unique<RootTree>(*output_.root, output_.root->folder(place_.folder),
                                         place_.name, tree, structure_.tops());
  root_tree_ = &made->tree();
  tree_ = std::move(made);
  branches_ = all_branches(*root_tree_);
  if (branches_.filled.size() != branches.filled.size()) {
    throw InputError(where(file) +
                     ": a branch that all files have needs a counter that is not the same in all "
                     "of them; merge without this tree (in a job merge.carry = false)");
  }
  index_.begin(tree);
  places_ = filled_places(*root_tree_);
  for (auto* branch : branches_.filled) {
    const auto old = Compression{branch->GetCompressionAlgorithm(), branch->GetCompressionLevel()};
    writers_.emplace_back(RootTree::branch(*branch),
                          treatment_.recompresses ? treatment_.compression : old);
  }
}

std::int64_t TreeMerger::add_by_root(TreeFile& file, const TKey& key, const TakenRows& taken) {
  TTree& tree = file.tree(place_.asked);
  const auto n_rows = tree.GetEntries();
  const auto branches = structure_.branches_of(tree);
  const bool adds_none = !taken.is_all() && taken.rows.empty() && tree_ != nullptr;
  if (adds_none || adds_nothing(tree, file, branches)) {
    return n_rows;
  }
  check_version(file, branches);
  if (tree_ == nullptr) {
    start(tree, file, branches);
    note_structure(file, key, branches);
  }
  structure_.check(tree, where(file));
  if (taken.is_all()) {
    check_way_of_filling(tree, file);
  } else {
    check_taken_apart(tree, file, branches);
  }
  const auto rows = rows_of(file, taken, n_rows);
  add_to_index(tree, rows);
  copy(tree, file, branches, taken, rows);
  include_ranges(branches);
  n_parts_ += taken.is_all() ? 1 : 2;
  note_rows(rows);
  return n_rows;
}

void TreeMerger::check_taken_apart(TTree& tree, const TreeFile& file,
                                   const BranchTree& branches) const {
  if (!are_known(branches) || !are_relocatable(branches) || may_have_references(file, branches) ||
      is_filled_by_branch(tree)) {
    throw InputError(where(file) +
                     ": some of its rows were carried to files before as well, and it "
                     "cannot be taken apart; merge the files that this one was made of");
  }
}

/// What was filled branch by branch has no entries that others could follow.
void TreeMerger::check_way_of_filling(TTree& tree, const TreeFile& file) {
  const bool is_by_branch = is_filled_by_branch(tree);
  if (is_by_branch ? n_entries_ > 0 : is_by_branch_ && tree.GetEntries() > 0) {
    throw InputError(where(file) + " was filled " +
                     (is_by_branch ? "branch by branch" : "entry by entry") +
                     ", and in the files before it was not; merge such files apart, or without "
                     "this tree (--trees; in a job merge.carry = false)");
  }
  is_by_branch_ = is_by_branch_ || is_by_branch;
}

void TreeMerger::add_to_index(TTree& tree, std::span<const RowRange> rows) {
  if (index_.is_wanted()) {
    index_.open(tree);
  }
  for (const auto& range : rows) {
    index_.add({range.first, range.last});
  }
}

/// A tree without entries may lack branches: the merged one has the structure of the first with
/// entries, if there is any.
bool TreeMerger::adds_nothing(TTree& tree, const TreeFile& file, const BranchTree& branches) {
  const bool is_other = tree_ == nullptr || !structure_.is_of(branches);
  if (tree.GetEntries() > 0 || !is_other || is_filled_by_branch(tree)) {
    return false;
  }
  without_entries_.push_back(file.path());
  return true;
}

std::vector<std::string> TreeMerger::notes() const {
  auto notes = notes_;
  if (!without_entries_.empty() && !only_without_entries_) {
    notes.push_back(path_ + ": no entries in " + some_of(without_entries_));
  }
  return notes;
}

void TreeMerger::note_structure(TreeFile& file, const TKey& key, const BranchTree& branches) {
  if (treatment_.recompresses || !structure_.has_all() || !are_known(branches) ||
      index_.is_wanted()) {
    return;  // ROOT has to read all trees
  }
  auto record = record_of(file, key, path_);
  if (record && record->filled.size() == branches.filled.size()) {
    layouts_ = std::make_shared<BranchLayouts>(layouts_of(branches.filled));
    record_ = std::move(record->structure);
  }
}

/// Of a tree that ROOT has read.
TreeMerger::BranchOf TreeMerger::stored_by_root(TTree& tree, const TreeFile& file,
                                                const BranchTree& branches) const {
  return [this, &tree, &file, &branches,
          stored = std::shared_ptr<InputTree>{}](std::size_t number) mutable {
    if (!stored) {
      stored = tree_of_root(tree, path_, file);
    }
    return stored_branch(*branches.filled[number], *stored, file);
  };
}

void TreeMerger::copy(TTree& tree, TreeFile& file, const BranchTree& branches,
                      const TakenRows& taken, std::span<const RowRange> rows) {
  if (is_filled_by_branch(tree)) {
    return copy_by_branch(tree, file, branches);
  }
  if (!are_known(branches)) {
    flush();
    return copy_by_root(tree, file, treatment_.recompresses);
  }
  const BasketCheck check{tree, branches.filled, file, check_};
  const auto places = check.places();
  const auto branch_of = stored_by_root(tree, file, branches);
  const bool by_root = taken.is_all() && needs_root(tree, file, branches, places);
  const bool joins =
      !taken.is_all() || (!by_root && are_relocatable(branches) && reclustering_.joins(places));
  if (taken.is_all()) {
    reclustering_.note(places, joins);
  }
  if (by_root) {
    flush();
    // Where references count from is in the key of a basket, if it has room: ROOT writes it over
    // what follows else.
    const bool lacks_room = check_all(file, check, chunk_) && may_have_references(file, branches);
    const bool fills = treatment_.recompresses || lacks_room;
    for (std::size_t i = 0; i < branches.filled.size(); ++i) {
      if (!fills ||
          has_numbers_alone(*branches.filled[i])) {  // else bytes of objects may be others
        note_passed(file, i, branch_of);
      }
    }
    return copy_by_root(tree, file, fills);
  }
  describe_classes_of(file, branches);
  joins ? join(file, check, rows, branch_of) : copy_whole(file, check, places, branch_of);
}

/// Each branch follows what the files before have of it.
void TreeMerger::copy_by_branch(TTree& tree, TreeFile& file, const BranchTree& branches) {
  const BasketCheck check{tree, branches.filled, file, check_};
  const auto places = check.places();
  if (!are_known(branches) || needs_root(tree, file, branches, places)) {
    throw InputError(where(file) +
                     " was filled branch by branch, and has objects that only ROOT can copy, "
                     "entry by entry; merge without this tree (--trees; in a job merge.carry = "
                     "false)");
  }
  describe_classes_of(file, branches);
  copy_whole(file, check, places, stored_by_root(tree, file, branches));
  of_holders_.resize(branches.holders.size());
  for (std::size_t i = 0; i < branches.holders.size(); ++i) {
    of_holders_[i] += branches.holders[i]->GetEntries();
  }
}

void TreeMerger::copy_by_root(TTree& tree, const TreeFile& file, bool fills) {
  if (!fills) {
    output_.root->describe_classes_of(
        file);  // ROOT leaves out classes that it cannot make objects of
  }
  const CapturedMessages messages;
  const TDirectory::TContext nowhere{nullptr};
  if (fills) {
    tree.CopyAddresses(root_tree_);  // by name: the others of that name follow
    BranchPlaces places;
    for (TObject* object : *root_tree_->GetListOfBranches()) {
      auto& to = static_cast<TBranch&>(*object);
      auto& from = *branch_at(tree, places.next(to.GetName()));
      if (from.IsA() != TBranch::Class()) {
        share_address(from, to);
      }
    }
  }
  const auto autosave = root_tree_->GetAutoSave();
  root_tree_->SetAutoSave(0);  // it would be written by its own name
  if (root_tree_->CopyEntries(&tree, -1, fills ? "" : "fast") < 0 ||
      !messages.first_error().empty()) {
    throw InputError(where(file) + " cannot be copied: " + messages.first());
  }
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    branches_.filled[i]->FlushBaskets();
    writers_[i].pass(tree.GetEntries());
  }
  root_tree_->SetAutoSave(autosave);
}

/// Largest counts: readers make room for as many values.
void TreeMerger::include_ranges(const BranchTree& from) {
  for (std::size_t i = 0; i < branches_.filled.size(); ++i) {
    TBranch& one = *from.filled[i];
    TBranch& to = *branches_.filled[i];
    for (int leaf = 0; leaf < to.GetListOfLeaves()->GetEntriesFast(); ++leaf) {
      static_cast<TLeaf*>(to.GetListOfLeaves()->At(leaf))
          ->IncludeRange(static_cast<TLeaf*>(one.GetListOfLeaves()->At(leaf)));
    }
    set_largest_count(to, std::max(largest_count(to), largest_count(one)));
  }
}

void TreeMerger::note_branches() {
  std::vector<std::string> lengths;
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    lengths.push_back(branches_.filled[i]->GetName() +
                      (" " + std::to_string(writers_[i].n_written())));
  }
  notes_.push_back(
      path_ + ": filled branch by branch, and joined so; entries of branches: " + some_of(lengths));
}

void TreeMerger::start_without_entries() {
  only_without_entries_ = std::make_unique<TreeFile>(without_entries_.front());
  TTree& tree = only_without_entries_->tree(place_.asked);
  start(tree, *only_without_entries_, structure_.branches_of(tree));
}

void TreeMerger::finish_root_tree() {
  for (std::size_t i = 0; i < branches_.holders.size(); ++i) {
    branches_.holders[i]->SetEntries(is_by_branch_ ? of_holders_[i] : n_entries_);
  }
  if (is_by_branch_) {
    note_branches();
  }
  root_tree_->SetEntries(n_entries_);
  index_.finish(*root_tree_);
  if (!index_.problem().empty()) {
    notes_.push_back(path_ + ": " + index_.problem());
  }
  if (n_parts_ > 1) {
    for (const auto& name : stored_friends(*root_tree_)) {
      notes_.push_back(path_ + ": the friend " + name + ", which is stored with the tree of " +
                       structure_.first_path() +
                       ", is left out: it is not one of the merged entries");
    }
    drop_friends(*root_tree_);
  }
}

}  // namespace forkrun::root_io
