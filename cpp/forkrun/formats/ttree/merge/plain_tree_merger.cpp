#include <forkrun/formats/ttree/merge/plain_tree_merger.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/merge/basket_chunks.hpp>
#include <forkrun/formats/ttree/merge/basket_copy.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>

namespace forkrun::root_io {

std::optional<TreeRecord> PlainTreeMerger::take_record(TreeFile& file) {
  auto record = file.record_of(path_, {.members = tree_ == nullptr});
  if (!record || record->is_filled_by_branch() ||
      (tree_ != nullptr && record->structure != structure_)) {
    return {};
  }
  if (tree_ == nullptr) {
    if (!record->members) {
      return {};
    }
    start(file, *record);
  }
  include_ranges(*record);
  return record;
}

void PlainTreeMerger::start(TreeFile& file, TreeRecord& record) {
  BranchLayouts layouts;
  for (const auto& branch : file.input_tree(path_).branches()) {
    layouts.push_back(branch.layout);
  }
  layouts_ = std::make_shared<BranchLayouts>(std::move(layouts));
  structure_ = record.structure;
  tree_ = std::make_unique<PlainTree>(
      path_, with_compression(std::move(*record.members), compression_), compression_);
  BranchPlaces places;
  for (std::size_t i = 0; i < layouts_->size(); ++i) {
    places_.push_back({places.next((*layouts_)[i].name)});
    writers_.emplace_back(tree_->branch(i), compression_);
  }
}

void PlainTreeMerger::include_ranges(const TreeRecord& record) {
  for (std::size_t i = 0; i < record.filled.size(); ++i) {
    const auto& leaves = record.filled[i].leaves;
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      if (leaves[leaf]) {
        tree_->include_range(i, leaf, *leaves[leaf]);
      }
    }
  }
}

std::optional<std::int64_t> PlainTreeMerger::add(TreeFile& file) {
  auto record = take_record(file);
  if (!record) {
    return {};
  }
  const auto n_entries = record->baskets.n_entries;
  const BasketCheck check{layouts_, std::move(record->baskets), tree_->members().name, file,
                          check_};
  const auto places = check.places();
  const bool joins = reclustering_.joins(places);
  reclustering_.note(places, joins);
  if (joins) {
    const RowRange all{0, n_entries};
    join(file, check, {&all, 1});
  } else {
    copy(file, check, places);
  }
  n_entries_ += n_entries;
  return n_entries;
}

void PlainTreeMerger::copy(TreeFile& file, const BasketCheck& check,
                           std::span<const BasketPlace> places) {
  joined_.flush();
  const auto copied = copy_baskets(file, check, on_file(places), output_, chunk_);
  auto next = copied.begin();
  for (const auto& place : places) {
    if (place.seek == 0) {  // kept within the tree's own record
      rewrite(file, place);
    } else {
      writers_[place.branch].enter(next->header, next->place, n_entries_ + place.first_entry,
                                   next->ends);
      ++next;
    }
  }
}

void PlainTreeMerger::rewrite(TreeFile& file, const BasketPlace& place) {
  auto& writer = writers_[place.branch];
  BranchReader reader{file.input_tree(path_).branch(place.branch), file};
  const EntryRun run{place.first_entry, place.first_entry + place.n_entries};
  writer.copy(reader, {&run, 1});
  writer.encode();
  writer.write(output_);
}

void PlainTreeMerger::join(TreeFile& file, const BasketCheck& check,
                           std::span<const RowRange> rows) {
  check_all(file, check, chunk_);
  JoinedEntries::Readers readers;
  for (auto& branch : file.input_tree(path_).branches()) {
    readers.push_back(std::make_unique<BranchReader>(std::move(branch), file));
  }
  joined_.add(readers, rows);
}

std::optional<std::int64_t> PlainTreeMerger::add_rows(TreeFile& file,
                                                      std::span<const RowRange> rows) {
  auto record = take_record(file);
  if (!record) {
    return {};
  }
  const auto n_entries = record->baskets.n_entries;
  if (!rows.empty() && rows.back().last > n_entries) {
    throw InputError(file.path() + ": tree \"" + path_ + "\" has fewer rows than are recorded");
  }
  join(file, BasketCheck{layouts_, std::move(record->baskets), tree_->members().name, file, check_},
       rows);
  for (const auto& range : rows) {
    n_entries_ += range.last - range.first;
  }
  return n_entries;
}

std::int64_t PlainTreeMerger::finish() {
  joined_.flush();
  for (auto& writer : writers_) {
    writer.finish();
  }
  tree_->write(output_, n_entries_);
  return n_entries_;
}

}  // namespace forkrun::root_io
