#include <forkrun/fragments/fragment_output.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/masks.hpp>

namespace forkrun {

std::string decision_name(const std::string& path) { return "forkrun_paths_" + path; }

std::size_t PathDecisions::add(const std::string& path) {
  paths_.push_back(path);
  return paths_.size() - 1;
}

PathDecisions::Noted& PathDecisions::noted(std::size_t path, const EventBlock& block) {
  const std::lock_guard lock{mutex_};
  auto& lane = lanes_[block.lane()];
  lane.resize(paths_.size());
  return lane[path];
}

void PathDecisions::note(std::size_t path, const EventBlock& block, Mask selected) {
  auto& mine = noted(path, block);
  mine.first_range = block.ranges().front();
  std::ranges::copy(selected, mine.column.fill_scalar<std::uint8_t>(block.n_events()).begin());
}

/// A path without events left has noted nothing for this block.
const Column& PathDecisions::of(std::size_t path, const EventBlock& block) {
  auto& mine = noted(path, block);
  if (mine.first_range != block.ranges().front()) {
    mine.first_range = block.ranges().front();
    std::ranges::fill(mine.column.fill_scalar<std::uint8_t>(block.n_events()), 0);
  }
  return mine.column;
}

PathDecision::PathDecision(Construction& construction, std::shared_ptr<PathDecisions> decisions,
                           const std::string& path)
    : decisions_{std::move(decisions)}, path_{decisions_->add(path)} {
  construction.set_concurrency(Concurrency::reentrant);
}

void PathDecision::analyze(const EventBlock& block, Mask selected) {
  decisions_->note(path_, block, selected);
}

namespace {

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

void counts_from(const Column& column, std::vector<std::int64_t>& counts) {
  const auto size = size_of(column.type().element);
  const auto* bytes = column.values<std::byte>().data();
  counts.resize(column.n_events());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::uint64_t value = 0;
    std::copy_n(bytes + i * size, size,
                reinterpret_cast<std::byte*>(&value));  // little-endian host
    counts[i] = static_cast<std::int64_t>(value);
  }
}

[[noreturn]] void throw_counts_differ(const std::string& column, const std::string& counter,
                                      const EventBlock& block, std::size_t event,
                                      std::int64_t n_values, std::int64_t n_counted) {
  throw OutputError("column \"" + column + "\" has " + counted(n_values, "value") + " in event " +
                    std::to_string(block.lumi_of(event).run) + ":" +
                    std::to_string(block.lumi_of(event).lumi) + ":" +
                    std::to_string(block.events()[event]) + ", where its counter \"" + counter +
                    "\" is " + std::to_string(n_counted) + "; give the column another prefix");
}

}  // namespace

FragmentOutput::FragmentOutput(FragmentOutputConfig config) : config_{std::move(config)} {
  find_shared_counters();
}

FragmentOutput::~FragmentOutput() { abandon(); }

void FragmentOutput::find_shared_counters() {
  std::map<std::string, std::uint32_t> made;  // of new columns
  for (std::size_t i = 0; i < config_.products.size(); ++i) {
    const auto& column = config_.products[i];
    if (!column.type.is_counted()) {
      continue;
    }
    const auto product = config_.product_numbers[i];
    const auto name = counter_name(column.name);
    const bool is_of_input = std::ranges::count(config_.branches, name) > 0;
    if (const auto [first, is_new] = made.try_emplace(name, product); is_of_input || !is_new) {
      shared_.push_back({column.name, product, name, first->second, is_of_input});
    }
  }
}

void FragmentOutput::open(const UnitOfWork& /*unit*/, const std::string& path) {
  fragment_ = std::make_unique<FragmentWriter>(path, columns());
}

/// For products, then for decisions.
std::vector<ColumnDescription> FragmentOutput::columns() const {
  auto columns = config_.products;
  if (config_.decisions) {
    for (const auto& path : config_.decisions->paths()) {
      columns.push_back({decision_name(path), {ElementType::boolean, Shape::scalar}});
    }
  }
  return columns;
}

void FragmentOutput::write(const EventBlock& block, Mask selected, Parallel& /*parallel*/) {
  const auto runs = runs_of(selected);
  if (runs.empty()) {
    return;
  }
  if (!shared_.empty()) {
    check_counts(block, runs);
  }
  written_ += digest_of(block, runs);
  add_entries(block.ranges(), runs);
  for (std::size_t i = 0; i < config_.product_numbers.size(); ++i) {
    fragment_->add(i, block.column(config_.product_numbers[i]), runs);
  }
  const auto n_products = config_.product_numbers.size();
  for (std::size_t path = 0; config_.decisions && path < config_.decisions->paths().size();
       ++path) {
    fragment_->add(n_products + path, config_.decisions->of(path, block), runs);
  }
  fragment_->end_of_step();
}

/// `runs`: of events in a block with these entries.
void FragmentOutput::add_entries(EntryRanges block, std::span<const EntryRun> runs) {
  std::int64_t end = 0;  // end of the range, in the block
  const auto* range = block.data() - 1;
  for (auto run : runs) {
    while (run.first < run.last) {
      while (end <= run.first) {
        ++range;
        end += range->last - range->first;
      }
      const auto last = std::min(run.last, end);
      fragment_->add_entries(
          {range->file, range->last - (end - run.first), range->last - (end - last)});
      run.first = last;
    }
  }
}

/// Only in the events of these runs: other values may not have been made.
void FragmentOutput::check_counts(const EventBlock& block, std::span<const EntryRun> runs) const {
  Column column;
  std::vector<std::int64_t> counts;
  for (const auto& shared : shared_) {
    const bool is_of_input = shared.is_of_input && block.source().has_stored(shared.counter);
    if (!is_of_input && shared.counted_product == shared.product) {
      continue;
    }
    const auto offsets = block.column(shared.product).offsets();
    if (is_of_input) {
      block.source().read_stored(shared.counter, column);
      counts_from(column, counts);
    } else {
      const auto others = block.column(shared.counted_product).offsets();
      counts.resize(block.n_events());
      std::ranges::transform(others.first(counts.size()), others.last(counts.size()),
                             counts.begin(), [](auto begin, auto end) { return end - begin; });
    }
    for (const auto& run : runs) {
      for (auto i = static_cast<std::size_t>(run.first); i < static_cast<std::size_t>(run.last);
           ++i) {
        if (const auto n = offsets[i + 1] - offsets[i]; n != counts[i]) {
          throw_counts_differ(shared.column, shared.counter, block, i, n, counts[i]);
        }
      }
    }
  }
}

OutputSummary FragmentOutput::close(Parallel& /*parallel*/) {
  OutputSummary summary{config_.label, fragment_->path(), written_, fragment_->close()};
  summary.checksum = fragment_->checksum();
  fragment_.reset();
  written_ = {};
  return summary;
}

void FragmentOutput::abandon() noexcept {
  if (fragment_) {
    fragment_->abandon();
    fragment_.reset();
  }
  written_ = {};
}

DatasetColumn::DatasetColumn(Construction& construction, const std::string& name,
                             std::vector<std::int32_t> of_file)
    : column_{construction.produces_scalar<std::int32_t>(name)}, of_file_{std::move(of_file)} {}

/// All events of a block are of one dataset.
void DatasetColumn::produce(const EventBlock& block) {
  std::ranges::fill(block.make(column_), of_file_.at(block.ranges().front().file));
}

}  // namespace forkrun
