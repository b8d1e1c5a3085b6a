#include <forkrun/root_io/write/tree_output.hpp>

#include <algorithm>
#include <numeric>

#include <TBranch.h>
#include <TFile.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/write/output_schema.hpp>

namespace forkrun::root_io {

namespace {

/// Uncompressed bytes that an output collects before it writes baskets: a cluster. Whether there
/// are as many is seen after 1, 2, 4, … events of a cluster, and every `largest_step` from there
/// on: where baskets begin depends on the events of the unit, and not on how they came in blocks.
constexpr std::size_t cluster_bytes = 32U << 20U;
constexpr std::int64_t largest_step = 1024;

/// Runs of selected events.
std::vector<EntryRun> runs_of(Mask selected) {
  std::vector<EntryRun> runs;
  const auto n = static_cast<std::int64_t>(selected.size());
  const auto is_selected = [&](std::int64_t i) {
    return selected[static_cast<std::size_t>(i)] != 0;
  };
  for (std::int64_t i = 0; i < n;) {
    if (!is_selected(i)) {
      ++i;
      continue;
    }
    const auto begin = i;
    while (i < n && is_selected(i)) {
      ++i;
    }
    runs.push_back({begin, i});
  }
  return runs;
}

std::vector<EntryRun> moved(std::span<const EntryRun> runs, std::int64_t by) {
  std::vector<EntryRun> moved{runs.begin(), runs.end()};
  for (auto& run : moved) {
    run.first += by;
    run.last += by;
  }
  return moved;
}

/// Takes the first n events, or all if there are fewer, away from `runs`.
std::vector<EntryRun> take(std::vector<EntryRun>& runs, std::int64_t n) {
  std::vector<EntryRun> taken;
  auto run = runs.begin();
  for (; n > 0 && run != runs.end(); ++run) {
    const auto last = std::min(run->last, run->first + n);
    taken.push_back({run->first, last});
    n -= last - run->first;
    run->first = last;
    if (last < run->last) {
      break;
    }
  }
  runs.erase(runs.begin(), run);
  return taken;
}

std::int64_t n_events_of(std::span<const EntryRun> runs) {
  return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                         [](auto n, const auto& run) { return n + run.last - run.first; });
}

EventDigest digest_of(const EventBlock& block, std::span<const EntryRun> runs) {
  EventDigest digest;
  for (const auto& run : runs) {
    block.lumis().for_each(static_cast<std::size_t>(run.first), static_cast<std::size_t>(run.last),
                           [&](LumiId lumi, std::size_t first, std::size_t last) {
                             digest.add(lumi, block.events().subspan(first, last - first));
                           });
  }
  return digest;
}

std::span<const std::int64_t> counts_from(BranchReader& reader, const EntryRange& range,
                                          Column& column, std::vector<std::int64_t>& counts) {
  reader.read(range.first, range.last, column);
  const auto size = size_of(column.type().element);
  const auto* bytes = column.values<std::byte>().data();
  counts.resize(column.n_events());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::uint64_t value = 0;
    std::copy_n(bytes + i * size, size,
                reinterpret_cast<std::byte*>(&value));  // little-endian host
    counts[i] = static_cast<std::int64_t>(value);
  }
  return counts;
}

std::string described(TBranch& branch) {
  return std::string{branch.GetName()} + ", " + form_of(branch);
}

[[noreturn]] void throw_counts_differ(const std::string& column, const std::string& counter,
                                      const EventBlock& block, std::size_t event,
                                      std::int64_t n_values, std::int64_t n_counted) {
  throw OutputError("column \"" + column + "\" has " + std::to_string(n_values) +
                    " values in event " + std::to_string(block.lumi_of(event).run) + ":" +
                    std::to_string(block.lumi_of(event).lumi) + ":" +
                    std::to_string(block.events()[event]) + ", where its counter \"" + counter +
                    "\" is " + std::to_string(n_counted) + "; give the column another prefix");
}

}  // namespace

std::vector<std::string> branches_written_anew(const std::string& path, const std::string& tree) {
  const InputFile file{path};
  const bool has_references = file.file().GetNProcessIDs() > 0;
  std::vector<std::string> names;
  for (TObject* object : *file.tree(tree).GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    if (!is_relocatable(branch) || (has_references && branch.IsA() != TBranch::Class())) {
      names.emplace_back(branch.GetName());
    }
  }
  return names;
}

TreeOutput::TreeOutput(TreeOutputConfig config) : config_{std::move(config)} {}

void TreeOutput::set_source(const TreeSourceConfig& source) {
  template_ = std::make_unique<TreeLane>(source);
  tree_path_ = source.tree;
  readers_.clear();
}

TreeOutput::~TreeOutput() { abandon(); }

void TreeOutput::open(const UnitOfWork& /*unit*/, const std::string& path) {
  template_->open(0);  // the first file gives the structure, whatever unit this is
  file_ = std::make_unique<OutputFile>(path, config_.compression);
  file_->set_temporary();
  begin_cluster();
  TDirectory& folder = file_->folder_of(tree_path_);
  if (!tree_) {
    make_structure(folder);
  } else {
    tree_->SetDirectory(&folder);
    for (auto* writer : writers()) {
      writer->restart();
    }
  }
  if (keeps_objects_) {
    file_->describe_classes_of(template_->file());
  }
}

void TreeOutput::make_structure(TDirectory& folder) {
  tree_.reset(&copy_structure(template_->tree(), config_.branches, folder));
  keep_branches(template_->tree());
  add_products();
}

void TreeOutput::keep_branches(TTree& input) {
  kept_.reserve(static_cast<std::size_t>(tree_->GetListOfBranches()->GetEntriesFast()));
  const bool has_references = template_->file().file().GetNProcessIDs() > 0;  // numbered by file
  for (TObject* object : *tree_->GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    TBranch& from = *branch_named(input, branch.GetName());
    const bool is_object = from.IsA() != TBranch::Class();
    if (!is_relocatable(from) || (is_object && has_references)) {
      objects_.emplace_back(branch.GetName());
      continue;
    }
    keeps_objects_ = keeps_objects_ || is_object;
    const auto all = all_branches(branch);
    for (std::size_t i = 0; i < all.filled.size(); ++i) {
      kept_.push_back({branch.GetName(), i, described(*all.filled[i]),
                       BranchWriter{*all.filled[i], config_.compression}});
    }
    holders_.insert(holders_.end(), all.holders.begin(), all.holders.end());
  }
}

void TreeOutput::add_products() {
  for (std::size_t i = 0; i < config_.products.size(); ++i) {
    add_product(config_.products[i], config_.product_numbers[i]);
  }
}

void TreeOutput::add_product(const ColumnDescription& column, std::uint32_t product) {
  if (column.type.shape == Shape::jagged) {
    const auto name = counter_name(column.name);
    const auto made = counters_.find(name);
    if (made != counters_.end()) {
      shared_.push_back({column.name, product, name, made->second.product, false});
    } else if (branch_named(*tree_, name) != nullptr) {
      shared_.push_back({column.name, product, name, 0, true});
    } else {
      counters_.emplace(
          name, NewCounter{product, BranchWriter{add_counter(*tree_, name), config_.compression}});
    }
  }
  columns_.push_back(
      {column, product, BranchWriter{add_branch(*tree_, column), config_.compression}});
}

void TreeOutput::begin_cluster() {
  objects_to_fill_.clear();
  n_in_cluster_ = 0;
  next_step_ = 1;
}

TreeOutput::LaneReaders& TreeOutput::readers_of(TreeLane& lane) {
  auto& readers = readers_[&lane];
  if (readers.generation == lane.generation() && readers.kept.size() == kept_.size()) {
    return readers;
  }
  readers.generation = lane.generation();
  readers.kept.clear();
  readers.counters.clear();
  add_readers(lane, readers);
  for (const auto& shared : shared_) {
    if (shared.is_of_input) {
      readers.counters[shared.counter] = std::make_unique<BranchReader>(
          find_branch(lane.tree(), shared.counter, lane.file()), lane.file());
    }
  }
  return readers;
}

void TreeOutput::add_readers(TreeLane& lane, LaneReaders& readers) const {
  BranchTree all;
  for (const auto& kept : kept_) {
    if (kept.number == 0) {
      all = all_branches(find_branch(lane.tree(), kept.name, lane.file()));
    }
    if (kept.number >= all.filled.size() ||
        (keeps_objects_ && described(*all.filled[kept.number]) != kept.form)) {
      throw InputError(lane.file().path() + ": branch " + kept.name +
                       " has another form than in the first file (" + kept.form +
                       "); process such files apart");
    }
    readers.kept.push_back(std::make_unique<BranchReader>(*all.filled[kept.number], lane.file()));
  }
}

void TreeOutput::write(const EventBlock& block, Mask selected, Parallel& parallel) {
  auto left = runs_of(selected);
  if (left.empty()) {
    return;
  }
  auto& lane = dynamic_cast<TreeLane&>(block.source());
  auto& readers = readers_of(lane);
  if (keeps_objects_) {
    file_->describe_classes_of(lane.file());
  }
  check_counts(block, readers);
  written_ += digest_of(block, left);
  while (!left.empty()) {
    add(block, readers, take(left, next_step_ - n_in_cluster_), parallel);
    if (n_in_cluster_ == next_step_) {
      end_of_step(parallel);
    }
  }
}

void TreeOutput::add(const EventBlock& block, LaneReaders& readers,
                     std::span<const EntryRun> events, Parallel& parallel) {
  const auto entries = moved(events, block.range().first);
  copy_kept(readers, entries, parallel);
  add_columns(block, events);
  note_objects(block.range().file, entries);
  n_in_cluster_ += n_events_of(events);
}

void TreeOutput::end_of_step(Parallel& parallel) {
  std::size_t n_pending = 0;
  for (const auto* writer : writers()) {
    n_pending += writer->n_pending_bytes();
  }
  if (n_pending >= cluster_bytes) {
    flush(parallel);
  } else {
    next_step_ += std::min(next_step_, largest_step);
  }
}

void TreeOutput::check_counts(const EventBlock& block, LaneReaders& readers) const {
  Column column;
  std::vector<std::int64_t> counts;
  for (const auto& shared : shared_) {
    const auto offsets = block.column(shared.product).offsets();
    if (shared.is_of_input) {
      counts_from(*readers.counters.at(shared.counter), block.range(), column, counts);
    } else {
      const auto others = block.column(shared.counted_product).offsets();
      counts.resize(block.n_events());
      std::ranges::transform(others.first(counts.size()), others.last(counts.size()),
                             counts.begin(), [](auto begin, auto end) { return end - begin; });
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (offsets[i + 1] - offsets[i] != counts[i]) {
        throw_counts_differ(shared.column, shared.counter, block, i, offsets[i + 1] - offsets[i],
                            counts[i]);
      }
    }
  }
}

void TreeOutput::copy_kept(LaneReaders& readers, std::span<const EntryRun> runs,
                           Parallel& parallel) {
  parallel.for_each(kept_.size(),
                    [&](std::size_t i) { kept_[i].writer.copy(*readers.kept[i], runs); });
}

void TreeOutput::add_columns(const EventBlock& block, std::span<const EntryRun> runs) {
  for (auto& [name, counter] : counters_) {
    counter.writer.add_counts(block.column(counter.product), runs);
  }
  for (auto& column : columns_) {
    column.writer.add(block.column(column.product), runs);
  }
}

/// ROOT writes a basket as soon as it is full; so branches take turns where the cluster ends, not
/// where a block does.
void TreeOutput::note_objects(std::uint32_t file, std::span<const EntryRun> entries) {
  if (objects_.empty()) {
    return;
  }
  for (const auto& run : entries) {
    auto* before = objects_to_fill_.empty() ? nullptr : &objects_to_fill_.back();
    if (before != nullptr && before->file == file && before->last == run.first) {
      before->last = run.last;
    } else {
      objects_to_fill_.push_back({file, run.first, run.last});
    }
  }
}

void TreeOutput::fill_objects(const EntryRange& range) {
  const auto generation = template_->generation();
  template_->open(range.file);
  if (template_->generation() != generation) {
    template_->tree().CopyAddresses(tree_.get());
  }
  for (const auto& name : objects_) {
    TBranch& from = *branch_named(template_->tree(), name);
    TBranch& to = *branch_named(*tree_, name);
    for (auto entry = range.first; entry < range.last; ++entry) {
      if (from.GetEntry(entry, 1) < 0 || to.Fill() < 0) {
        throw OutputError(file_->path() + ": branch \"" + name + "\" cannot be copied");
      }
    }
  }
}

std::vector<BranchWriter*> TreeOutput::writers() {
  std::vector<BranchWriter*> writers;
  for (auto& kept : kept_) {
    writers.push_back(&kept.writer);
  }
  for (auto& [name, counter] : counters_) {
    writers.push_back(&counter.writer);
  }
  for (auto& column : columns_) {
    writers.push_back(&column.writer);
  }
  return writers;
}

void TreeOutput::flush(Parallel& parallel) {
  for (const auto& range : objects_to_fill_) {
    fill_objects(range);
  }
  begin_cluster();
  const auto all = writers();
  parallel.for_each(all.size(), [&](std::size_t i) { all[i]->encode(); });
  for (auto* writer : all) {
    writer->write(*file_);
  }
}

OutputSummary TreeOutput::close(Parallel& parallel) {
  flush(parallel);
  for (auto* writer : writers()) {
    writer->finish();
  }
  const auto n_written = static_cast<std::int64_t>(written_.count());
  for (auto* holder : holders_) {
    holder->SetEntries(n_written);
  }
  tree_->SetEntries(n_written);
  OutputSummary summary{config_.label, file_->path(), written_, 0};
  file_->write_and_release(*tree_);
  summary.n_bytes = file_->close();
  file_.reset();
  written_ = {};
  tree_->Reset();
  if (!objects_.empty()) {
    forget_structure();  // ROOT tunes the buffers of branches that it fills: the next unit must not
                         // see it
  }
  return summary;
}

void TreeOutput::abandon() noexcept {
  forget_structure();  // before its file, which would delete the tree
  if (file_) {
    file_->abandon();
    file_.reset();
  }
  written_ = {};
}

void TreeOutput::forget_structure() {
  kept_.clear();
  holders_.clear();
  keeps_objects_ = false;
  columns_.clear();
  counters_.clear();
  shared_.clear();
  objects_.clear();
  tree_.reset();
}

}  // namespace forkrun::root_io
