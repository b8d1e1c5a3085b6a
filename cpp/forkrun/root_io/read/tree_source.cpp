#include <forkrun/root_io/read/tree_source.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

#include <TROOT.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

/// Large enough that the cost per block does not count, small enough that the columns of a block
/// stay in the cache.
constexpr std::size_t default_block_size = 8192;

std::string text_of(LumiId lumi) {
  return std::to_string(lumi.run) + ":" + std::to_string(lumi.lumi);
}

template <typename T>
void fill_values(Column& column, std::size_t n_events, double value) {
  std::ranges::fill(column.fill_scalar<T>(n_events), static_cast<T>(value));
}

/// The same value for each event; of a jagged column none.
void fill(Column& column, std::size_t n_events, double value) {
  if (column.type().shape == Shape::jagged) {
    std::ranges::fill(column.resize_offsets(n_events), 0);
    column.resize_values(0);
    return;
  }
  constexpr std::array fills{
      fill_values<bool>,          fill_values<std::int8_t>,   fill_values<std::uint8_t>,
      fill_values<std::int16_t>,  fill_values<std::uint16_t>, fill_values<std::int32_t>,
      fill_values<std::uint32_t>, fill_values<std::int64_t>,  fill_values<std::uint64_t>,
      fill_values<float>,         fill_values<double>};  // in the order of ElementType
  fills.at(static_cast<std::size_t>(column.type().element))(column, n_events, value);
}

}  // namespace

TreeLane::TreeLane(const TreeSourceConfig& config)
    : config_{config}, readers_(config.columns.size()) {}

TreeLane::~TreeLane() = default;

void TreeLane::open(std::uint32_t file) {
  if (file_ && file == file_number_) {
    return;
  }
  closed_ = statistics();
  std::ranges::fill(readers_, nullptr);
  ids_.reset();
  file_.reset();
  ++generation_;
  file_ = std::make_unique<InputFile>(config_.files.at(file));
  file_number_ = file;
  if (!config_.identities.empty()) {
    file_->check_identity(config_.identities.at(file));
  }
  naming_file(file_->path(), [&] {
    tree_ = &file_->tree(config_.tree);
    ids_ = std::make_unique<EventIds>(*tree_, *file_, config_.ids, file);
  });
}

std::span<const std::uint64_t> TreeLane::load(const EntryRange& block, const BlockLumis& lumis) {
  open(block.file);
  if (block.last > tree_->GetEntries()) {
    throw InputError(file_->path() + ": has " + std::to_string(tree_->GetEntries()) +
                     " events, not the " + std::to_string(block.last) +
                     " of its index: it changed since it was indexed");
  }
  block_ = block;
  ids_->load(block.first, block.last);
  lumis.for_each(
      0, ids_->events().size(),
      [this](LumiId lumi, std::size_t first, std::size_t last) { check_lumi(lumi, first, last); });
  return ids_->events();
}

/// Of events [first, last) of the block.
void TreeLane::check_lumi(LumiId lumi, std::size_t first, std::size_t last) const {
  for (auto i = first; i < last; ++i) {
    if (ids_->lumi(i) != lumi) {
      throw InputError(file_->path() + ": entry " +
                       std::to_string(block_.first + static_cast<std::int64_t>(i)) +
                       " is of lumi " + text_of(ids_->lumi(i)) + ", not " + text_of(lumi) +
                       " as in its index: it changed since it was indexed");
    }
  }
}

BranchReader& TreeLane::reader(std::size_t column) {
  auto& reader = readers_[column];
  if (!reader) {
    const auto& wanted = config_.columns[column];
    reader = std::make_unique<BranchReader>(find_branch(*tree_, wanted.name, *file_), *file_);
    if (reader->layout().column != wanted.type) {
      throw InputError(file_->path() + ": branch \"" + wanted.name + "\" is " +
                       reader->layout().described_type() + ", in the first file it is " +
                       wanted.type.name());
    }
  }
  return *reader;
}

const double* TreeLane::fill_of(std::size_t column) const {
  const auto& name = config_.columns[column].name;
  const auto found = config_.fills.find(name);
  const bool is_filled = found != config_.fills.end() && branch_named(*tree_, name) == nullptr;
  return is_filled ? &found->second : nullptr;
}

void TreeLane::read(std::size_t column, Column& into) {
  if (const auto* value = config_.fills.empty() ? nullptr : fill_of(column)) {
    into.reset(config_.columns[column].type);
    fill(into, static_cast<std::size_t>(block_.last - block_.first), *value);
    return;
  }
  naming_file(file_->path(), [&] { reader(column).read(block_.first, block_.last, into); });
}

SourceLane::Statistics TreeLane::statistics() const {
  if (!file_) {
    return closed_;
  }
  return {closed_.read_calls + file_->read_calls(), closed_.read_bytes + file_->read_bytes()};
}

TreeSource::TreeSource(TreeSourceConfig config) : config_{std::move(config)} {}

std::unique_ptr<SourceLane> TreeSource::make_lane() {
  ROOT::EnableThreadSafety();
  return std::make_unique<TreeLane>(config_);
}

void TreeSource::cut(const UnitOfWork& unit, std::size_t block_size,
                     std::vector<EntryRange>& blocks) const {
  const auto size = static_cast<std::int64_t>(block_size == 0 ? default_block_size : block_size);
  for (const auto& range : unit.ranges) {
    const auto cut = cut_into_blocks(range, config_.clusters.at(range.file), size);
    blocks.insert(blocks.end(), cut.begin(), cut.end());
  }
}

std::vector<EntryRange> cut_into_blocks(const EntryRange& range,
                                        std::span<const std::int64_t> clusters,
                                        std::int64_t block_size) {
  std::vector<EntryRange> blocks;
  for (auto first = range.first; first < range.last;) {
    const auto limit = std::min(first + block_size, range.last);
    const auto beyond = std::ranges::upper_bound(clusters, limit);
    const auto boundary = beyond == clusters.begin() ? first : *(beyond - 1);
    if (limit == range.last || boundary > first) {
      const auto last = limit == range.last ? limit : boundary;
      blocks.push_back({range.file, first, last});
      first = last;
      continue;
    }
    const auto end = std::min(beyond == clusters.end() ? range.last : *beyond, range.last);
    const auto n_parts = (end - first + block_size - 1) / block_size;
    const auto begin = first;
    for (std::int64_t part = 1; part <= n_parts; ++part) {
      const auto last = begin + (end - begin) * part / n_parts;
      blocks.push_back({range.file, first, last});
      first = last;
    }
  }
  return blocks;
}

}  // namespace forkrun::root_io
