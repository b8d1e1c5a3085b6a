#include <forkrun/formats/ttree/merge/tree_merger.hpp>

#include <algorithm>
#include <utility>

#include <TBasket.h>
#include <TBranch.h>
#include <TBranchElement.h>
#include <TBranchObject.h>
#include <TBranchRef.h>
#include <TFile.h>
#include <TKey.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/object_record.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/write/relations.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

// ROOT's part in a merge of trees: it reads the first one, and all that records do not tell.
namespace forkrun::root_io {

namespace {

/// Baskets of branches of these classes can be copied whole; others have branches that are in no
/// list.
bool are_known(const BranchTree& branches) {
  for (const auto& group : {branches.filled, branches.holders}) {
    for (const auto* branch : group) {
      const auto* type = branch->IsA();
      if (type != TBranch::Class() && type != TBranchElement::Class() &&
          type != TBranchObject::Class() && type != TBranchRef::Class()) {
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

/// Objects may point to each other: by numbers that belong to their file.
bool may_have_references(const InputFile& file, const BranchTree& branches) {
  return file.has_references() && has_objects(branches);
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
                       "\" have a form that only files of old ROOT may have: rewrite this tree"
                       " with ROOT and the classes of its objects, or merge without it (--trees)");
    }
  }
}

/// None if ROOT has to read it.
std::optional<TreeRecord> record_of(TreeFile& file, const TKey& key, const std::string& path) {
  const auto object = read_object(file, key, path);
  return object.type == "TTree" ? parse_tree_record(object.bytes, object.key_length) : std::nullopt;
}

}  // namespace

std::optional<TreeRecord> TreeMerger::record_after_root(TreeFile& file, const TKey& key) const {
  if (!record_) {
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
  index_.open(tree);
  for (const auto& range : rows) {
    index_.add({range.first, range.last});
  }
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

/// Trees filled branch by branch have no entries that others could follow.
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
  if (treatment_.recompresses || !are_known(branches) || index_.is_wanted()) {
    return;  // ROOT has to read all trees
  }
  auto record = record_of(file, key, path_);
  if (record && record->filled.size() == branches.filled.size()) {
    layouts_ = std::make_shared<BranchLayouts>(layouts_of(branches.filled));
    record_ = std::move(record->structure);
  }
}

/// Branches of a tree that ROOT has read.
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
    return fill(tree, file, branches);
  }
  const BasketCheck check{tree, branches.filled, file, check_};
  const auto places = check.places();
  const auto branch_of = stored_by_root(tree, file, branches);
  const auto process_offset = process_offset_of(file, branches);
  const bool joins = !taken.is_all() ||
                     (!process_offset && are_relocatable(branches) && reclustering_.joins(places));
  if (taken.is_all()) {
    reclustering_.note(places, joins);
  }
  describe_classes_of(file, branches);
  if (joins) {
    join(file, check, rows, branch_of);
  } else if (must_be_filled(file, check, branches, places, process_offset)) {
    fill(tree, file, branches);
  } else {
    copy_whole(file, check, places, branch_of, process_offset);
  }
}

/// ROOT takes the ids by itself where it fills new baskets.
TreeMerger::ProcessOffset TreeMerger::process_offset_of(const TreeFile& file,
                                                        const BranchTree& branches) {
  if (output_.root == nullptr || !may_have_references(file, branches)) {
    return {};
  }
  return treatment_.recompresses ? std::uint16_t{0} : output_.root->take_process_ids_of(file);
}

/// References to other objects count from a number in the key of their basket, which small keys and
/// new ones lack; places in a basket change after a key of another length.
bool TreeMerger::must_be_filled(TreeFile& file, const BasketCheck& check,
                                const BranchTree& branches, std::span<const BasketPlace> places,
                                ProcessOffset process_offset) {
  const auto is_in_tree = [](const auto& place) { return place.seek == 0; };
  if (process_offset) {
    const auto lacks_key = [&](const auto& place) {
      return is_in_tree(place) && branches.filled[place.branch]->IsA() != TBranchRef::Class();
    };
    return treatment_.recompresses || std::ranges::any_of(places, lacks_key) ||
           lacks_room(file, check, process_offset);
  }
  const auto has_other_key = [&](const BasketPlace& place, int key_length) {
    const auto* name = branches.filled[place.branch]->GetName();
    return key_length != header_length(name, root_tree_->GetName());
  };
  const auto is_moved = [&](const BasketPlace& place) {
    return is_in_tree(place) &&
           has_other_key(place,
                         branches.filled[place.branch]->GetBasket(place.number)->GetKeylen());
  };
  return !are_relocatable(branches) &&
         (std::ranges::any_of(places, is_moved) ||
          (treatment_.recompresses &&
           check_all(file, check, chunk_, [&](const auto& place, const auto& header) {
             return has_other_key(place, header.key_length);
           })));
}

/// Each branch follows what the files before have of it.
void TreeMerger::copy_by_branch(TTree& tree, TreeFile& file, const BranchTree& branches) {
  const BasketCheck check{tree, branches.filled, file, check_};
  const auto places = check.places();
  const auto process_offset = process_offset_of(file, branches);
  if (!are_known(branches) || must_be_filled(file, check, branches, places, process_offset)) {
    throw InputError(where(file) +
                     " was filled branch by branch, and has objects that only ROOT can copy, "
                     "entry by entry; merge without this tree (--trees; in a job merge.carry = "
                     "false)");
  }
  describe_classes_of(file, branches);
  copy_whole(file, check, places, stored_by_root(tree, file, branches), process_offset);
  of_holders_.resize(branches.holders.size());
  for (std::size_t i = 0; i < branches.holders.size(); ++i) {
    of_holders_[i] += branches.holders[i]->GetEntries();
  }
}

/// Only branches of objects: numbers, as in a table of references, are the same in any basket.
void TreeMerger::fill(TTree& tree, TreeFile& file, const BranchTree& branches) {
  flush();
  const auto is_plain = [&](std::size_t i) {
    auto& branch = *branches.filled[i];
    return branch.IsA() == TBranchRef::Class() || branch.GetMother()->IsA() == TBranch::Class();
  };
  auto places = BasketCheck{tree, branches.filled, file, check_}.places();
  std::erase_if(places, [&](const auto& place) { return !is_plain(place.branch); });
  enter(file, places, {}, stored_by_root(tree, file, branches));
  const EntryRange all{0, 0, tree.GetEntries()};
  for (std::size_t first = 0, last = 0; first < places_.size(); first = last) {
    const auto& top = places_[first].top;
    while (last < places_.size() && places_[last].top == top) {
      ++last;
    }
    if (is_plain(first)) {
      continue;
    }
    FilledBranch filled{*branch_at(*root_tree_, top),
                        std::span{branches_.filled}.subspan(first, last - first),
                        std::span{writers_}.subspan(first, last - first), *output_.root};
    filled.open(*branch_at(tree, top), file.path());
    filled.add({&all, 1});
    filled.flush();
  }
}

/// Largest counts: readers make room for as many values.
void TreeMerger::include_ranges(const BranchTree& from) {
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    BranchRecord told{{}, largest_count(*from.filled[i])};
    for (const auto* leaf : leaves_of(*from.filled[i])) {
      told.leaves.emplace_back(told_range(*leaf));
    }
    writers_[i].include(told);
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
