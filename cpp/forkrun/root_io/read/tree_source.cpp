#include <forkrun/root_io/read/tree_source.hpp>

#include <algorithm>

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

}  // namespace

TreeLane::TreeLane(const TreeSourceConfig& config)
    : config_{config}, readers_(config.columns.size()), filled_(config.columns.size()) {}

TreeLane::~TreeLane() = default;

void TreeLane::open(std::uint32_t file) {
  if (file_ && file == file_number_) {
    return;
  }
  closed_ = statistics();
  std::ranges::fill(readers_, nullptr);
  std::ranges::fill(filled_, nullptr);
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

FilledColumn* TreeLane::filled(std::size_t column) {
  const auto& wanted = config_.columns[column];
  const auto fill = config_.fills.find(wanted.name);
  if (readers_[column] || fill == config_.fills.end()) {
    return nullptr;
  }
  auto& filled = filled_[column];
  if (!filled && branch_named(*tree_, wanted.name) == nullptr) {
    const auto& [value, name] = fill->second;
    auto* counter = name.empty() ? nullptr : branch_named(*tree_, name);
    filled = std::make_unique<FilledColumn>(
        wanted.type, value,
        counter == nullptr ? nullptr : std::make_unique<BranchReader>(*counter, *file_));
  }
  return filled.get();
}

void TreeLane::read(std::size_t column, Column& into) {
  naming_file(file_->path(), [&] {
    if (auto* instead = filled(column)) {
      return instead->read(block_.first, block_.last, into);
    }
    reader(column).read(block_.first, block_.last, into);
  });
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
