#include <forkrun/formats/ttree/merge/tree_merger.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <thread>
#include <utility>

#include <TTree.h>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/merge/basket_copy.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>

#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::root_io {

namespace {

std::size_t n_threads_for(double n_bytes) {
  return n_threads_worth(n_bytes, std::thread::hardware_concurrency());
}

}  // namespace

/// Rewrites entries, from one file after the other, in clusters of their own.
class TreeMerger::EntrySink final : public ClusterSink {
 public:
  using Readers = std::vector<std::unique_ptr<BranchReader>>;

  EntrySink(std::vector<BranchWriter>& writers, RecordFile& output)
      : writers_{writers},
        output_{output},
        cutter_{wanted_cluster_bytes(writers.size()), false,
                [this](std::uint32_t) { return InputClusters{rows_, bytes_per_entry_}; }, *this} {}

  /// Rows of a tree. `readers`: of the same branches as the writers.
  void add_rows(Readers readers, std::span<const RowRange> rows) {
    double n_bytes = 0;
    for (const auto& reader : readers) {
      n_bytes += static_cast<double>(reader->branch().n_told_bytes);
    }
    readers_ = std::move(readers);
    const auto n_rows = readers_.empty() ? 0 : readers_.front()->branch().n_entries;
    rows_ = {0, n_rows};
    bytes_per_entry_ = std::max(n_bytes / std::max(1.0, static_cast<double>(n_rows)), 1.0);
    ++file_;
    for (const auto& range : rows) {
      cutter_.add({file_, range.first, range.last});
    }
    cutter_.end_input_cluster();
  }
  /// Ends the present cluster: before baskets are entered as they are, and at the end.
  void flush() { cutter_.finish(); }

  void add(std::span<const EntryRange> entries) override {
    std::vector<EntryRun> runs;
    for (const auto& range : entries) {
      runs.push_back({range.first, range.last});
    }
    const auto n_bytes = static_cast<double>(n_events_of(entries)) * bytes_per_entry_;
    in_parallel(writers_.size(), n_threads_for(n_bytes),
                [&](std::size_t i) { writers_[i].copy(*readers_[i], runs); });
  }
  void add_whole(const EntryRange& entries) override { add({&entries, 1}); }
  [[nodiscard]] double n_bytes() const override {
    double n_bytes = 0;
    for (const auto& writer : writers_) {
      n_bytes += static_cast<double>(writer.n_pending_bytes());
    }
    return n_bytes;
  }
  void end_cluster(std::int64_t /*n_entries*/) override {
    in_parallel(writers_.size(), n_threads_for(n_bytes()),
                [&](std::size_t i) { writers_[i].encode(); });
    for (auto& writer : writers_) {
      writer.write(output_);
    }
  }

 private:
  std::vector<BranchWriter>& writers_;
  RecordFile& output_;
  Readers readers_;  ///< of the tree that was added last
  std::array<std::int64_t, 2> rows_{};
  double bytes_per_entry_{};
  std::uint32_t file_{};
  ClusterCutter cutter_;
};

TreeMerger::TreeMerger(const MergedFile& output, TreePlace place, const BasketTreatment& treatment,
                       BasketCheck::Depth check)
    : output_{output},
      place_{std::move(place)},
      path_{place_.path()},
      treatment_{treatment},
      check_{check},
      reclustering_{treatment} {}

TreeMerger::~TreeMerger() = default;

std::string TreeMerger::where(const TreeFile& file) const {
  return file.path() + ": tree \"" + path_ + '"';
}

std::optional<std::int64_t> TreeMerger::add(TreeFile& file, const TKey* key,
                                            const TakenRows& taken) {
  if (const auto n_rows = add_by_record(file, key, taken)) {
    return n_rows;
  }
  return key == nullptr ? std::nullopt : std::optional{add_by_root(file, *key, taken)};
}

/// None if ROOT has to read it.
std::optional<std::int64_t> TreeMerger::add_by_record(TreeFile& file, const TKey* key,
                                                      const TakenRows& taken) {
  auto record = key == nullptr
                    ? file.record_of(path_, {.tops = joins_, .members = tree_ == nullptr})
                    : record_after_root(file, *key);
  if (!record || (record_ && record->structure != *record_)) {
    return {};
  }
  const auto n_entries = record->baskets.n_entries;
  const auto was_filled = [&](const auto& branch) { return branch.n_entries == n_entries; };
  if (!std::ranges::all_of(record->baskets.branches, was_filled)) {
    return {};
  }
  file.keep_tree(path_, *record);
  if (!record_ && !start(file, *record)) {
    return {};
  }
  const BasketCheck check{layouts_, std::move(record->baskets), path_, file, check_};
  const auto places = check.places();
  const auto process_offset = process_offset_of(file, branches_);
  const bool joins = joins_ = !taken.is_all() || (!process_offset && reclustering_.joins(places));
  if (joins ? !has_own_branches_alone() : lacks_room(file, check, process_offset)) {
    return {};
  }
  describe_classes_of(file, branches_);
  const auto rows = rows_of(file, taken, n_entries);
  if (taken.is_all()) {
    reclustering_.note(places, joins);
  }
  const BranchOf branch_of = [&](auto number) {
    return file.input_tree(place_.asked).branch(number);
  };
  joins ? join(file, check, rows, branch_of)
        : copy_whole(file, check, places, branch_of, process_offset);
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    writers_[i].include(record->filled[i]);
  }
  ++n_parts_;
  note_rows(rows);
  return n_entries;
}

/// False if ROOT has to write it.
bool TreeMerger::start(TreeFile& file, TreeRecord& record) {
  if (!record.members) {
    return false;
  }
  BranchLayouts layouts;
  BranchPlaces places;
  for (const auto& branch : file.input_tree(path_).branches()) {
    places_.push_back({places.next(branch.layout.name)});
    layouts.push_back(branch.layout);
  }
  layouts_ = std::make_shared<BranchLayouts>(std::move(layouts));
  record_ = record.structure;
  auto tree = std::make_unique<PlainTree>(
      *output_.plain, path_, with_compression(std::move(*record.members), treatment_.compression),
      treatment_.compression);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    writers_.emplace_back(tree->branch(i), treatment_.compression);
  }
  tree_ = std::move(tree);
  return true;
}

std::vector<RowRange> TreeMerger::rows_of(const TreeFile& file, const TakenRows& taken,
                                          std::int64_t n_rows) const {
  if (taken.is_all()) {
    return {{0, n_rows}};
  }
  if (!taken.rows.empty() && taken.rows.back().last > n_rows) {
    throw InputError(where(file) + " has fewer rows than are recorded");
  }
  return taken.rows;
}

void TreeMerger::note_rows(std::span<const RowRange> rows) {
  for (const auto& range : rows) {
    n_entries_ += range.last - range.first;
  }
  if (root_tree_ != nullptr) {
    root_tree_->SetEntries(n_entries_);
  }
}

void TreeMerger::join(TreeFile& file, const BasketCheck& check, std::span<const RowRange> rows,
                      const BranchOf& branch_of) {
  check_all(file, check, chunk_);
  EntrySink::Readers readers;
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    readers.push_back(std::make_unique<BranchReader>(branch_of(i), file));
  }
  if (!joined_) {
    joined_ = std::make_unique<EntrySink>(writers_, output_.records);
  }
  joined_->add_rows(std::move(readers), rows);
}

void TreeMerger::flush() {
  if (joined_) {
    joined_->flush();
  }
}

void TreeMerger::copy_whole(TreeFile& file, const BasketCheck& check,
                            std::span<const BasketPlace> places, const BranchOf& branch_of,
                            ProcessOffset process_offset) {
  flush();
  std::vector<CopiedBasket> copied;
  if (treatment_.recompresses) {
    check_all(file, check, chunk_);
  } else {
    copied = copy_baskets(file, check, on_file(places), output_.records, chunk_, process_offset);
  }
  enter(file, places, copied, branch_of);
}

/// Enters the copied baskets; others are rewritten.
void TreeMerger::enter(TreeFile& file, std::span<const BasketPlace> places,
                       std::span<const CopiedBasket> copied, const BranchOf& branch_of) {
  std::vector<std::int64_t> begins;
  std::ranges::transform(writers_, std::back_inserter(begins), &BranchWriter::n_written);
  std::unique_ptr<BranchReader> reader;
  const BranchWriter* rewritten = nullptr;
  for (auto next = copied.begin(); const auto& place : places) {
    auto& writer = writers_[place.branch];
    if (next != copied.end() && place.seek != 0) {
      writer.enter(next->header, next->place, begins[place.branch] + place.first_entry, next->ends);
      ++next;
      continue;
    }
    if (&writer != rewritten) {
      reader = std::make_unique<BranchReader>(branch_of(place.branch), file);
      rewritten = &writer;
    }
    const EntryRun run{place.first_entry, place.first_entry + place.n_entries};
    writer.copy(*reader, {&run, 1});
    writer.encode();
    writer.write(output_.records);
  }
}

std::int64_t TreeMerger::finish() {
  if (tree_ == nullptr && !without_entries_.empty()) {
    only_without_entries_ = std::make_unique<TreeFile>(without_entries_.front());
    TTree& tree = only_without_entries_->tree(place_.asked);
    start(tree, *only_without_entries_, structure_.branches_of(tree));
  }
  flush();
  for (auto& writer : writers_) {
    writer.finish();
  }
  if (root_tree_ != nullptr) {
    finish_root_tree();
  }
  tree_->write(n_entries_);
  return n_entries_;
}

}  // namespace forkrun::root_io
