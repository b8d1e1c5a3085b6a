#include <forkrun/formats/ttree/output/output_tree.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/merge/basket_copy.hpp>
#include <forkrun/formats/ttree/read/stored_branch.hpp>

namespace forkrun::root_io {

namespace {

/// Baskets on file that hold exactly these entries of a branch; none if some hold others as well.
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

MakeTable SharedInput::tables(const OutputContent& content, std::size_t n_threads) {
  const auto kept = std::make_shared<KeptInput>(*this);
  return [kept, &content, n_threads](const std::string& path) {
    return std::make_unique<OutputTree>(path, *kept, content, n_threads);
  };
}

OutputTree::OutputTree(const std::string& path, KeptInput& input, const OutputContent& content,
                       std::size_t n_threads)
    : input_{&input},
      content_{content},
      n_threads_{n_threads},
      target_{path, input, content},
      path_{path} {
  add_branches();
}

OutputTree::OutputTree(RecordFile& file, const std::string& path, KeptInput* input,
                       const OutputContent& content, std::size_t n_threads)
    : input_{input},
      content_{content},
      n_threads_{n_threads},
      target_{file, input, content},
      path_{path} {
  add_branches();
}

void OutputTree::add_branches() {
  std::vector<KeptBranch> branches;
  for (auto& [branch, compression, target] : target_.take_kept()) {
    places_.push_back({branch.top, branch.number});
    branches.push_back(branch);
    kept_.emplace_back(std::move(target), content_.compression);
    keeps_baskets_ = keeps_baskets_ || stays_as_it_is(compression);
  }
  if (input_ != nullptr) {
    input_->set_kept(std::move(branches));
  }
  auto& tree = target_.tree();
  for (std::size_t i = 0; i < content_.products.size(); ++i) {
    const auto& column = content_.products[i];
    NewBranch branch{column.name, column.type};
    if (column.type.is_counted()) {
      const auto& name = branch.counter.emplace(content_.counter_of(column));
      if (!tree.has(name)) {
        counters_.push_back({i, name, {tree.add_counter(name), content_.compression}});
      }
    }
    columns_.push_back({i, column.name, {tree.add(branch), content_.compression}});
  }
}

bool OutputTree::stays_as_it_is(int compression) const {
  return !content_.recompresses || compression == content_.compression.settings();
}

double OutputTree::bytes_per_event() { return bytes_per_event(input_->first_with_events()); }

double OutputTree::bytes_per_event(std::uint32_t file) {
  open(file);
  const auto n_events = static_cast<double>(input_->n_entries());
  double n_bytes = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    n_bytes += static_cast<double>(input_->branch(i).n_told_bytes);
  }
  for (const auto& column : content_.products) {
    constexpr double values_guessed = 4;
    const bool is_scalar = column.type.shape == Shape::scalar;
    n_bytes += static_cast<double>(size_of(column.type.element) * column.type.n_in_item()) *
               (is_scalar ? 1 : values_guessed) * n_events;
  }
  return std::max(n_bytes / std::max(1.0, n_events), 1.0);
}

double OutputTree::wanted_cluster_bytes() const {
  return forkrun::wanted_cluster_bytes(kept_.size());
}

void OutputTree::open(std::uint32_t file) {
  input_->open(file);
  if (generation_ != input_->generation()) {
    generation_ = input_->generation();
    target_.open();
  }
}

void OutputTree::expect(std::span<const EntryRange> clusters) {
  if (input_ != nullptr) {
    input_->open(clusters.front().file);
    input_->expect(clusters);
  }
}

void OutputTree::add(std::span<const EntryRange> entries, std::span<const NewValues> values) {
  if (input_ == nullptr) {
    add_columns(values);
    n_entries_ += n_events_of(entries);
    return;
  }
  open(entries.front().file);
  if (input_->takes_turns()) {
    wait(entries);
  } else {
    input_->note_read();
    std::vector<EntryRun> runs;
    for (const auto& range : entries) {
      runs.push_back({range.first, range.last});
    }
    in_parallel(kept_.size(), n_threads_,
                [&](std::size_t i) { kept_[i].copy(input_->reader(i), runs); });
  }
  target_.fill(entries);
  add_columns(values);
  n_entries_ += n_events_of(entries);
}

void OutputTree::wait(std::span<const EntryRange> entries) {
  auto number = n_entries_;
  for (const auto& [file, first, last] : entries) {
    waiting_[file].push_back({{first, last}, number});
    number += last - first;
  }
}

/// In the order in which they are stored, so that what has many pieces takes each basket once.
void OutputTree::copy_waiting() {
  std::vector<std::int64_t> numbers;
  std::size_t n_threads = 1;
  for (auto& [file, runs] : waiting_) {
    open(file);
    std::ranges::sort(runs, {}, [](const auto& run) { return run.entries.first; });
    for (auto& [entries, number] : runs) {
      numbers.push_back(number);
      entries = input_->numbered(entries);
    }
    n_threads = n_threads_for(runs, file);
    in_parallel(kept_.size(), n_threads, [&](std::size_t i) {
      kept_[i].gather(input_->reader(i), runs);
      input_->reader(i).forget();
    });
  }
  if (waiting_.empty()) {
    return;
  }
  waiting_.clear();
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](auto place) { return numbers[place]; });
  in_parallel(kept_.size(), n_threads, [&](std::size_t i) { kept_[i].arrange(order); });
}

/// One where baskets are unpacked already and little of them is copied.
std::size_t OutputTree::n_threads_for(std::span<const NumberedRun> runs, std::uint32_t file) {
  const std::array ends{runs.front().entries.first, runs.back().entries.last - 1};
  const auto n_events = std::accumulate(runs.begin(), runs.end(), 0.0, [](auto n, const auto& run) {
    return n + static_cast<double>(run.entries.last - run.entries.first);
  });
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!std::ranges::all_of(ends, [&](auto at) { return input_->reader(i).has_unpacked(at); })) {
      return n_threads_;
    }
  }
  return n_threads_worth(n_events * bytes_per_event(file), n_threads_);
}

double OutputTree::n_pending_bytes() {
  copy_waiting();
  double n_bytes = 0;
  for (const auto* writer : writers()) {
    n_bytes += static_cast<double>(writer->n_pending_bytes());
  }
  return n_bytes;
}

void OutputTree::add_whole(const EntryRange& entries, std::span<const NewValues> values) {
  open(entries.file);
  input_->note_read();
  const EntryRun run{entries.first, entries.last};
  std::vector<std::size_t> whole;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool is_whole = stays_as_it_is(input_->branch(i).compression) &&
                          !baskets_of(input_->reader(i), run).empty();
    (is_whole ? whole : others).push_back(i);
  }
  copy_records(whole, run);
  const auto numbered = input_->numbered(run);
  in_parallel(others.size(), n_threads_, [&](std::size_t i) {
    kept_[others[i]].copy(input_->reader(others[i]), {&numbered, 1});
  });
  target_.fill({&entries, 1});
  add_columns(values);
  n_entries_ += run.last - run.first;
}

void OutputTree::copy_records(std::span<const std::size_t> branches, const EntryRun& entries) {
  std::vector<BasketPlace> baskets;
  for (const auto branch : branches) {
    for (const auto& stored : baskets_of(input_->reader(branch), entries)) {
      baskets.push_back({branch, stored.number, stored.seek, stored.n_bytes, stored.first_entry,
                         stored.n_entries});
    }
  }
  for (const auto& basket :
       copy_baskets(input_->file(), input_->check(), std::move(baskets), target_.file(), chunk_)) {
    kept_[basket.branch].enter(basket.header, basket.place,
                               n_entries_ + basket.first_entry - entries.first, basket.ends);
  }
  for (const auto branch : branches) {
    kept_[branch].include_largest(input_->branch(branch).largest_counts);
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

void OutputTree::end_cluster() {
  copy_waiting();
  const auto all = writers();
  in_parallel(all.size(), n_threads_, [&](std::size_t i) { all[i]->encode(); });
  for (auto* writer : all) {
    writer->write(target_.file());
  }
}

void OutputTree::finish() {
  for (auto* writer : writers()) {
    writer->finish();
  }
  target_.finish(n_entries_);
}

void OutputTree::check() const {
  auto branches = sampled(places_, kept_);
  for (const auto* group : {&counters_, &columns_}) {
    for (const auto& column : *group) {
      branches.push_back({{{column.name}}, &column.writer.samples()});
    }
  }
  std::ranges::copy(target_.sampled(), std::back_inserter(branches));
  check_samples(path_, content_.tree, branches, n_threads_);
}

}  // namespace forkrun::root_io
