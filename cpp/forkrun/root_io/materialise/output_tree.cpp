#include <forkrun/root_io/materialise/output_tree.hpp>

#include <algorithm>
#include <utility>

#include <TBranch.h>
#include <TFile.h>
#include <TList.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/in_parallel.hpp>
#include <forkrun/root_io/merge/basket_copy.hpp>
#include <forkrun/root_io/read/stored_baskets.hpp>
#include <forkrun/root_io/write/output_schema.hpp>

namespace forkrun::root_io {

namespace {

/// Of a branch, those that hold exactly these entries, on file; none if some hold others as well.
std::span<const StoredBasket> baskets_of(const BranchReader& reader, const EntryRun& entries) {
  const auto all = reader.baskets();
  const auto begin = std::ranges::lower_bound(all, entries.first, {}, &StoredBasket::first_entry);
  const auto end = std::ranges::lower_bound(all, entries.last, {}, &StoredBasket::first_entry);
  if (begin == end || begin->first_entry != entries.first ||
      (end - 1)->first_entry + (end - 1)->n_entries != entries.last) {
    return {};
  }
  const std::span found{begin, end};
  const bool are_on_file =
      std::ranges::all_of(found, [](const auto& basket) { return basket.seek != 0; });
  return are_on_file ? found : std::span<const StoredBasket>{};
}

}  // namespace

OutputTree::OutputTree(OutputFile& file, const std::string& tree_path, KeptInput& input,
                       const OutputContent& content, std::size_t n_threads)
    : file_{file}, input_{input}, content_{content}, n_threads_{n_threads} {
  auto& first = input.first_file();
  tree_.reset(&copy_structure(first.tree(), content.branches, file_.folder_of(tree_path)));
  keep_branches(first);
  add_products();
}

OutputTree::~OutputTree() {
  if (!objects_.empty() && generation_ == input_.generation()) {
    input_.tree().GetListOfClones()->Remove(tree_.get());
  }
}

void OutputTree::keep_branches(TreeLane& input) {
  std::vector<KeptBranch> kept;
  for (TObject* object : *tree_->GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    TBranch& from = *branch_named(input.tree(), branch.GetName());
    if (is_written_anew(from, input.file())) {
      objects_.emplace_back(branch.GetName());
      continue;
    }
    keeps_objects_ = keeps_objects_ || from.IsA() != TBranch::Class();
    const auto all = all_branches(branch);
    for (std::size_t i = 0; i < all.filled.size(); ++i) {
      kept.push_back({branch.GetName(), i, described(*all.filled[i])});
      kept_.emplace_back(*all.filled[i], content_.compression);
    }
    keeps_baskets_ = keeps_baskets_ || stays_as_it_is(from);
    holders_.insert(holders_.end(), all.holders.begin(), all.holders.end());
  }
  input_.set_kept(std::move(kept), keeps_objects_);
}

void OutputTree::add_products() {
  for (std::size_t i = 0; i < content_.products.size(); ++i) {
    const auto& column = content_.products[i];
    if (column.type.is_counted()) {
      const auto name = counter_name(column.name);
      // Not by TTree::GetBranch, which finds branches that the copy of a tree was made without.
      if (tree_->GetListOfBranches()->FindObject(name.c_str()) == nullptr) {
        counters_.push_back({i, {add_counter(*tree_, name), content_.compression}});
      }
    }
    columns_.push_back({i, {add_branch(*tree_, column), content_.compression}});
  }
}

bool OutputTree::stays_as_it_is(const TBranch& branch) const {
  return !content_.recompresses ||
         branch.GetCompressionSettings() == content_.compression.settings();
}

double OutputTree::bytes_per_event(std::uint32_t file) {
  open(file);
  double n_bytes = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    n_bytes += static_cast<double>(input_.branch(i).GetTotBytes());
  }
  for (const auto& column : content_.products) {
    constexpr double values_guessed = 4;
    const bool is_scalar = column.type.shape == Shape::scalar;
    n_bytes += static_cast<double>(size_of(column.type.element) * column.type.n_in_item()) *
               (is_scalar ? 1 : values_guessed) * static_cast<double>(input_.tree().GetEntries());
  }
  return std::max(n_bytes / std::max(1.0, static_cast<double>(input_.tree().GetEntries())), 1.0);
}

void OutputTree::open(std::uint32_t file) {
  input_.open(file);
  if (generation_ == input_.generation()) {
    return;
  }
  generation_ = input_.generation();
  if (keeps_objects_) {
    file_.describe_classes_of(input_.file());
  }
  if (!objects_.empty()) {
    input_.tree().CopyAddresses(tree_.get());
  }
}

void OutputTree::add(std::span<const EntryRange> entries, std::span<const NewValues> values) {
  open(entries.front().file);
  std::vector<EntryRun> runs;
  for (const auto& range : entries) {
    runs.push_back({range.first, range.last});
  }
  in_parallel(kept_.size(), n_threads_,
              [&](std::size_t i) { kept_[i].copy(input_.reader(i), runs); });
  std::ranges::for_each(entries, [this](const auto& range) { fill_objects(range); });
  add_columns(values);
}

double OutputTree::n_pending_bytes() {
  double n_bytes = 0;
  for (const auto* writer : writers()) {
    n_bytes += static_cast<double>(writer->n_pending_bytes());
  }
  return n_bytes;
}

void OutputTree::add_whole(const EntryRange& entries, std::span<const NewValues> values) {
  open(entries.file);
  const EntryRun run{entries.first, entries.last};
  std::vector<std::size_t> whole;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool is_whole =
        stays_as_it_is(input_.branch(i)) && !baskets_of(input_.reader(i), run).empty();
    (is_whole ? whole : others).push_back(i);
  }
  copy_records(whole, run);
  in_parallel(others.size(), n_threads_,
              [&](std::size_t i) { kept_[others[i]].copy(input_.reader(others[i]), {&run, 1}); });
  fill_objects(entries);
  add_columns(values);
}

void OutputTree::copy_records(std::span<const std::size_t> branches, const EntryRun& entries) {
  std::vector<BasketPlace> baskets;
  for (const auto branch : branches) {
    for (const auto& stored : baskets_of(input_.reader(branch), entries)) {
      baskets.push_back({branch, stored.number, stored.seek, stored.n_bytes, stored.first_entry,
                         stored.n_entries});
    }
  }
  for (const auto& basket :
       copy_baskets(input_.file(), input_.check(), std::move(baskets), file_, chunk_)) {
    kept_[basket.branch].enter(basket.header, basket.place);
  }
  for (const auto branch : branches) {
    kept_[branch].include_maximum(input_.branch(branch));
  }
}

void OutputTree::add_columns(std::span<const NewValues> values) {
  for (const auto& [columns, events] : values) {
    for (auto& counter : counters_) {
      counter.writer.add_counts((*columns)[counter.number], {&events, 1});
    }
    for (auto& column : columns_) {
      column.writer.add((*columns)[column.number], {&events, 1});
    }
  }
}

void OutputTree::fill_objects(const EntryRange& entries) {
  for (const auto& name : objects_) {
    TBranch& from = *branch_named(input_.tree(), name);
    TBranch& to = *branch_named(*tree_, name);
    for (auto entry = entries.first; entry < entries.last; ++entry) {
      if (from.GetEntry(entry, 1) < 0 || to.Fill() < 0) {
        throw OutputError(file_.path() + ": branch \"" + name + "\" cannot be copied");
      }
    }
  }
}

std::vector<BranchWriter*> OutputTree::writers() {
  std::vector<BranchWriter*> writers;
  for (auto& writer : kept_) {
    writers.push_back(&writer);
  }
  for (auto* group : {&counters_, &columns_}) {
    for (auto& column : *group) {
      writers.push_back(&column.writer);
    }
  }
  return writers;
}

void OutputTree::end_cluster(std::int64_t n_events) {
  const auto all = writers();
  in_parallel(all.size(), n_threads_, [&](std::size_t i) { all[i]->encode(); });
  for (auto* writer : all) {
    writer->write(file_);
  }
  n_entries_ += n_events;
}

void OutputTree::finish() {
  for (auto* writer : writers()) {
    writer->finish();
  }
  for (auto* holder : holders_) {
    holder->SetEntries(n_entries_);
  }
  tree_->SetEntries(n_entries_);
  file_.write_and_release(*tree_);
}

}  // namespace forkrun::root_io
