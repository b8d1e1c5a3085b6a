#include <forkrun/root_io/materialise/fragment_output.hpp>

#include <algorithm>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/write/column_leaf.hpp>

namespace forkrun::root_io {

namespace {

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

FragmentOutput::FragmentOutput(FragmentOutputConfig config) : config_{std::move(config)} {
  find_shared_counters();
}

FragmentOutput::~FragmentOutput() { abandon(); }

void FragmentOutput::find_shared_counters() {
  std::map<std::string, std::uint32_t> made;  // by new columns
  for (std::size_t i = 0; i < config_.products.size(); ++i) {
    const auto& column = config_.products[i];
    if (!column.type.is_counted()) {
      continue;
    }
    const auto product = config_.product_numbers[i];
    const auto name = counter_name(column.name);
    if (std::ranges::count(config_.branches, name) > 0) {
      shared_.push_back({column.name, product, name, 0, true});
    } else if (const auto [first, is_new] = made.try_emplace(name, product); !is_new) {
      shared_.push_back({column.name, product, name, first->second, false});
    }
  }
}

void FragmentOutput::open(const UnitOfWork& /*unit*/, const std::string& path) {
  readers_.clear();  // of lanes that may be gone
  fragment_ = std::make_unique<FragmentWriter>(path, columns());
}

/// Of the products, then of the decisions.
std::vector<ColumnDescription> FragmentOutput::columns() const {
  auto columns = config_.products;
  if (config_.decisions) {
    for (const auto& path : config_.decisions->paths()) {
      columns.push_back({decision_name(path), {ElementType::boolean, Shape::scalar}});
    }
  }
  return columns;
}

FragmentOutput::LaneReaders& FragmentOutput::readers_of(TreeLane& lane) {
  auto& readers = readers_[&lane];
  if (readers.generation == lane.generation()) {
    return readers;
  }
  readers.generation = lane.generation();
  readers.counters.clear();
  for (const auto& shared : shared_) {
    if (shared.is_of_input) {
      readers.counters[shared.counter] =
          std::make_unique<BranchReader>(lane.input_tree().branch(shared.counter), lane.file());
    }
  }
  return readers;
}

void FragmentOutput::write(const EventBlock& block, Mask selected, Parallel& /*parallel*/) {
  const auto runs = runs_of(selected);
  if (runs.empty()) {
    return;
  }
  if (!shared_.empty()) {
    check_counts(block, readers_of(dynamic_cast<TreeLane&>(block.source())));
  }
  written_ += digest_of(block, runs);
  const auto begin = block.range().first;
  for (const auto& run : runs) {
    fragment_->add_entries({block.range().file, begin + run.first, begin + run.last});
  }
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

void FragmentOutput::check_counts(const EventBlock& block, LaneReaders& readers) const {
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

}  // namespace forkrun::root_io
