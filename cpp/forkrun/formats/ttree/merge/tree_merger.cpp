#include <forkrun/formats/ttree/merge/tree_merger.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <TBranch.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TKey.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/object_record.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/merge/basket_chunks.hpp>
#include <forkrun/formats/ttree/merge/unread_copy.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/stored_friends.hpp>
#include <forkrun/formats/ttree/write/branch_of_root.hpp>
#include <forkrun/formats/ttree/write/output_schema.hpp>
#include <forkrun/formats/ttree/write/recompress.hpp>

namespace forkrun::root_io {

namespace {

/// None if ROOT has to read it.
std::optional<TreeRecord> record_of(TreeFile& file, const TKey& key, const std::string& path) {
  const auto object = read_object(file, key, path);
  auto record =
      object.type == "TTree" ? parse_tree_record(object.bytes, object.key_length) : std::nullopt;
  return record && !record->has_baskets ? std::move(record) : std::nullopt;
}

}  // namespace

TreeMerger::TreeMerger(OutputFile& output, TreePlace place, const BasketTreatment& treatment,
                       BasketCheck::Depth check, std::optional<std::vector<std::string>> only)
    : output_{output},
      place_{std::move(place)},
      path_{place_.path()},
      treatment_{treatment},
      check_{check},
      structure_{std::move(only)},
      reclustering_{treatment},
      joined_{writers_, output} {}

TreeMerger::~TreeMerger() = default;

void TreeMerger::start(TTree& tree, const TreeFile& file, const BranchTree& branches) {
  structure_.begin(tree, branches, file.path());
  tree_.reset(&copy_structure(tree, structure_.tops(), output_.folder(place_.folder)));
  branches_ = all_branches(*tree_);
  if (branches_.filled.size() != branches.filled.size()) {
    throw InputError(file.path() + ": tree \"" + path_ +
                     "\": a branch that all files have needs a counter that is not the same in all "
                     "of them; merge without this tree (in a job merge.carry = false)");
  }
  index_.begin(tree);
  places_ = filled_places(*tree_);
  for (auto* branch : branches_.filled) {
    const auto old = Compression{branch->GetCompressionAlgorithm(), branch->GetCompressionLevel()};
    writers_.emplace_back(branch_of_root(*branch),
                          treatment_.recompresses ? treatment_.compression : old);
  }
}

void TreeMerger::add(TreeFile& file, const TKey& key) {
  if (tree_ != nullptr && copy_by_record(file, key)) {
    return;
  }
  TTree& tree = file.tree(place_.asked);
  const auto branches = structure_.branches_of(tree);
  if (adds_nothing(tree, file, branches)) {
    return;
  }
  check_version(file, branches);
  if (tree_ == nullptr) {
    start(tree, file, branches);
    note_structure(file, key, branches);
  }
  structure_.check(tree, file.path() + ": tree \"" + path_ + '"');
  check_way_of_filling(tree, file);
  const RowRange all{0, tree.GetEntries()};
  add_to_index(tree, {&all, 1});
  copy(tree, file, branches);
  include_ranges(branches);
  ++n_parts_;
  n_entries_ += tree.GetEntries();
  tree_->SetEntries(n_entries_);
}

/// What was filled branch by branch has no entries that others could follow.
void TreeMerger::check_way_of_filling(TTree& tree, const TreeFile& file) {
  const bool is_by_branch = is_filled_by_branch(tree);
  if (is_by_branch ? n_entries_ > 0 : is_by_branch_ && tree.GetEntries() > 0) {
    throw InputError(file.path() + ": tree \"" + path_ + "\" was filled " +
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

void TreeMerger::add_rows(TreeFile& file, std::span<const RowRange> rows) {
  if (rows.empty() && tree_ != nullptr) {
    return;
  }
  TTree& tree = file.tree(place_.asked);
  const auto branches = structure_.branches_of(tree);
  if (adds_nothing(tree, file, branches)) {
    return;
  }
  if (tree_ == nullptr) {
    start(tree, file, branches);
  }
  structure_.check(tree, file.path() + ": tree \"" + path_ + '"');
  if (!are_known(branches) || !are_relocatable(branches) || may_have_references(file, branches) ||
      is_filled_by_branch(tree)) {
    throw InputError(file.path() + ": tree \"" + path_ +
                     "\": some of its rows were carried to files before as well, and it "
                     "cannot be taken apart; merge the files that this one was made of");
  }
  if (!rows.empty() && rows.back().last > tree.GetEntries()) {
    throw InputError(file.path() + ": tree \"" + path_ + "\" has fewer rows than are recorded");
  }
  add_to_index(tree, rows);
  n_parts_ += 2;  // not all of its rows
  const BasketCheck check{tree, branches.filled, file, check_};
  check_all(file, check, chunk_);
  join(file, branches, rows);
  include_ranges(branches);
  for (const auto& range : rows) {
    n_entries_ += range.last - range.first;
  }
  tree_->SetEntries(n_entries_);
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

/// Copies a tree that ROOT need not read; false if it has to.
bool TreeMerger::copy_by_record(TreeFile& file, const TKey& key) {
  if (!record_ || may_have_references(file, branches_)) {
    return false;
  }
  check_version(file, branches_);
  auto record = record_of(file, key, path_);
  if (!record || record->structure != *record_) {
    return false;
  }
  const auto n_entries = record->baskets.n_entries;
  const auto was_filled = [&](const auto& branch) { return branch.n_entries == n_entries; };
  if (!std::ranges::all_of(record->baskets.branches, was_filled)) {
    return false;
  }
  const BasketCheck check{layouts_, std::move(record->baskets), path_, file, check_};
  auto places = check.places();
  if (reclustering_.joins(places)) {
    return false;
  }
  reclustering_.note(places, false);
  joined_.flush();
  if (has_objects(branches_)) {
    output_.describe_classes_of(file);
  }
  for (const auto& basket : copy_baskets(file, check, std::move(places), output_, chunk_)) {
    writers_[basket.branch].enter(basket.header, basket.place, n_entries_ + basket.first_entry,
                                  basket.ends);
  }
  include_ranges(record->filled);
  ++n_parts_;
  n_entries_ += n_entries;
  tree_->SetEntries(n_entries_);
  return true;
}

void TreeMerger::copy(TTree& tree, TreeFile& file, const BranchTree& branches) {
  if (is_filled_by_branch(tree)) {
    return copy_by_branch(tree, file, branches);
  }
  if (!are_known(branches)) {
    joined_.flush();
    return copy_by_root(tree, file, treatment_.recompresses);
  }
  const BasketCheck check{tree, branches.filled, file, check_};
  const auto places = check.places();
  const bool by_root = needs_root(tree, file, branches, places);
  const bool joins = !by_root && are_relocatable(branches) && reclustering_.joins(places);
  reclustering_.note(places, joins);
  if (!joins) {
    joined_.flush();
  }
  if (by_root) {
    // Where references count from is in the key of a basket, if it has room: ROOT writes it over
    // what follows else.
    const bool lacks_room = check_all(file, check, chunk_) && may_have_references(file, branches);
    const bool fills = treatment_.recompresses || lacks_room;
    note_passed(file, branches, fills);
    return copy_by_root(tree, file, fills);
  }
  if (joins) {
    if (has_objects(branches)) {
      output_.describe_classes_of(file);
    }
    check_all(file, check, chunk_);
    const RowRange all{0, tree.GetEntries()};
    return join(file, branches, {&all, 1});
  }
  copy_records(file, branches, check, places);
}

void TreeMerger::copy_records(TreeFile& file, const BranchTree& branches, const BasketCheck& check,
                              std::span<const BasketPlace> places) {
  if (has_objects(branches)) {
    output_.describe_classes_of(file);
  }
  if (treatment_.recompresses) {
    note_passed(file, branches, false);
  }
  enter(file, branches, places,
        treatment_.recompresses ? recompressed(file, check, places)
                                : copy_baskets(file, check, on_file(places), output_, chunk_));
}

/// Each branch follows what the files before have of it.
void TreeMerger::copy_by_branch(TTree& tree, TreeFile& file, const BranchTree& branches) {
  const BasketCheck check{tree, branches.filled, file, check_};
  const auto places = check.places();
  if (!are_known(branches) || needs_root(tree, file, branches, places)) {
    throw InputError(file.path() + ": tree \"" + path_ +
                     "\" was filled branch by branch, and has objects that only ROOT can copy, "
                     "entry by entry; merge without this tree (--trees; in a job merge.carry = "
                     "false)");
  }
  copy_records(file, branches, check, places);
  of_holders_.resize(branches.holders.size());
  for (std::size_t i = 0; i < branches.holders.size(); ++i) {
    of_holders_[i] += branches.holders[i]->GetEntries();
  }
}

void TreeMerger::copy_by_root(TTree& tree, const TreeFile& file, bool fills) {
  if (!fills) {
    output_.describe_classes_of(file);  // ROOT leaves out classes that it cannot make objects of
  }
  const CapturedMessages messages;
  const TDirectory::TContext nowhere{nullptr};
  if (fills) {
    tree.CopyAddresses(tree_.get());  // by name: the others of that name follow
    BranchPlaces places;
    for (TObject* object : *tree_->GetListOfBranches()) {
      auto& to = static_cast<TBranch&>(*object);
      auto& from = *branch_at(tree, places.next(to.GetName()));
      if (from.IsA() != TBranch::Class()) {
        share_address(from, to);
      }
    }
  }
  const auto autosave = tree_->GetAutoSave();
  tree_->SetAutoSave(0);  // it would be written by its own name
  if (tree_->CopyEntries(&tree, -1, fills ? "" : "fast") < 0 || !messages.first_error().empty()) {
    throw InputError(file.path() + ": tree \"" + path_ +
                     "\" cannot be copied: " + messages.first());
  }
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    branches_.filled[i]->FlushBaskets();
    writers_[i].pass(tree.GetEntries());
  }
  tree_->SetAutoSave(autosave);
}

void TreeMerger::include_ranges(std::span<const BranchRecord> from) {
  for (std::size_t i = 0; i < branches_.filled.size(); ++i) {
    TBranch& to = *branches_.filled[i];
    for (std::size_t leaf = 0; leaf < from[i].leaves.size(); ++leaf) {
      if (const auto& range = from[i].leaves[leaf]) {
        include_range(static_cast<TLeaf&>(*to.GetListOfLeaves()->At(static_cast<int>(leaf))),
                      *range);
      }
    }
    set_largest_count(to, std::max(largest_count(to), from[i].largest_count));
  }
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

std::vector<CopiedBasket> TreeMerger::recompressed(TreeFile& file, const BasketCheck& check,
                                                   std::span<const BasketPlace> places) {
  std::vector<CopiedBasket> copied;
  for_each_chunk(on_file(places), [&](std::span<const BasketPlace> chunk) {
    const auto records = read_chunk(file, check, chunk, chunk_).records;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      auto basket = recompress_basket(records[i], treatment_.compression);
      const auto place = output_.allocate(basket.record.size());
      place_basket(basket.record, place, output_.seek_directory());
      output_.write(place, basket.record);
      copied.push_back({chunk[i].branch, chunk[i].first_entry, basket.header, place,
                        ends_of(basket.record, basket.header)});
    }
  });
  sort_by_branch(copied);
  return copied;
}

/// `copied`: those that are on file, in the order of `places`.
void TreeMerger::enter(TreeFile& file, const BranchTree& branches,
                       std::span<const BasketPlace> places, std::span<const CopiedBasket> copied) {
  std::vector<std::int64_t> begins;
  std::ranges::transform(writers_, std::back_inserter(begins), &BranchWriter::n_written);
  for (const auto& place : places) {
    if (place.seek == 0) {  // kept within the tree's own record
      rewrite(branches, file, place);
    } else {
      const auto& [branch, first_entry, header, at, ends] = copied.front();
      writers_[place.branch].enter(header, at, begins[place.branch] + place.first_entry, ends);
      copied = copied.subspan(1);
    }
  }
}

/// Notes entries of each branch whose turn it is. `by_root`: ROOT reads and fills them, so that the
/// bytes of objects may be others.
void TreeMerger::note_passed(TreeFile& file, const BranchTree& branches, bool by_root) {
  const auto tree = tree_of_root(file.tree(place_.asked), path_, file);
  for (std::size_t i = 0; i < branches.filled.size(); ++i) {
    if (!by_root || has_numbers_alone(*branches.filled[i])) {
      BranchReader reader{stored_branch(*branches.filled[i], *tree, file), file};
      writers_[i].note_passed(reader);
    }
  }
}

void TreeMerger::rewrite(const BranchTree& branches, TreeFile& file, const BasketPlace& place) {
  TBranch& branch = *branches.filled[place.branch];
  const auto tree = tree_of_root(*branch.GetTree(), path_, file);
  BranchReader reader{stored_branch(branch, *tree, file), file};
  const EntryRun run{place.first_entry, place.first_entry + place.n_entries};
  writers_[place.branch].copy(reader, {&run, 1});
  writers_[place.branch].encode();
  writers_[place.branch].write(output_);
}

void TreeMerger::join(TreeFile& file, const BranchTree& branches, std::span<const RowRange> rows) {
  const auto tree = tree_of_root(file.tree(place_.asked), path_, file);
  JoinedEntries::Readers readers;
  for (auto* branch : branches.filled) {
    readers.push_back(std::make_unique<BranchReader>(stored_branch(*branch, *tree, file), file));
  }
  joined_.add(readers, rows);
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

std::int64_t TreeMerger::finish() {
  if (tree_ == nullptr && !without_entries_.empty()) {
    only_without_entries_ = std::make_unique<TreeFile>(without_entries_.front());
    TTree& tree = only_without_entries_->tree(place_.asked);
    start(tree, *only_without_entries_, structure_.branches_of(tree));
  }
  joined_.flush();
  for (auto& writer : writers_) {
    writer.finish();
  }
  for (std::size_t i = 0; i < branches_.holders.size(); ++i) {
    branches_.holders[i]->SetEntries(is_by_branch_ ? of_holders_[i] : n_entries_);
  }
  if (is_by_branch_) {
    note_branches();
  }
  tree_->SetEntries(n_entries_);
  index_.finish(*tree_);
  if (!index_.problem().empty()) {
    notes_.push_back(path_ + ": " + index_.problem());
  }
  if (n_parts_ > 1) {
    for (const auto& name : stored_friends(*tree_)) {
      notes_.push_back(path_ + ": the friend " + name + ", which is stored with the tree of " +
                       structure_.first_path() +
                       ", is left out: it is not one of the merged entries");
    }
    drop_friends(*tree_);
  }
  output_.write_and_release(*tree_, place_.name);
  tree_.reset();
  return n_entries_;
}

}  // namespace forkrun::root_io
