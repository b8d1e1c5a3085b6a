#include <forkrun/root_io/read/tree_source.hpp>

#include <algorithm>

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
  friends_.clear();
  file_.reset();
  ++generation_;
  file_ = std::make_unique<InputFile>(config_.files.at(file));
  file_number_ = file;
  if (!config_.identities.empty()) {
    file_->check_identity(config_.identities.at(file));
  }
  naming_file(file_->path(), [&] {
    tree_ = &file_->input_tree(config_.tree);
    tree_of_root_ = nullptr;
    if (tree_->n_entries() > 0) {  // without entries it may lack their branches
      ids_ = std::make_unique<EventIds>(*tree_, *file_, config_.ids, file);
    }
  });
  if (tree_->n_entries() > 0) {
    open_friends();
  }
}

TTree& TreeLane::tree() const {
  if (tree_of_root_ == nullptr) {
    tree_of_root_ = &file_->tree(config_.tree);
  }
  return *tree_of_root_;
}

void TreeLane::open_friends() {
  for (const auto& tree : config_.friends) {
    const auto& path = tree.parts.at(file_number_).file;
    naming_file(path, [&] { friends_.push_back(open_friend(tree)); });
  }
}

TreeLane::OpenFriend TreeLane::open_friend(const FriendTree& tree) const {
  const auto& part = tree.parts.at(file_number_);
  OpenFriend opened{nullptr, file_.get(), nullptr, part.first_entry};
  if (part.file != file_->path()) {
    opened.own = std::make_unique<InputFile>(part.file);
    opened.own->check_identity(part.identity);
    opened.file = opened.own.get();
  }
  opened.tree = &opened.file->input_tree(tree.tree);
  if (opened.tree->n_entries() < part.first_entry + tree_->n_entries()) {
    throw InputError(part.file + ": tree \"" + tree.tree + "\" has " +
                     std::to_string(opened.tree->n_entries()) +
                     " entries, too few to be a friend of " + file_->path());
  }
  if (!tree.ids.event.empty()) {
    opened.ids = std::make_unique<EventIds>(*opened.tree, *opened.file, tree.ids, file_number_);
  }
  return opened;
}

std::span<const std::uint64_t> TreeLane::load(const EntryRange& block, const BlockLumis& lumis) {
  open(block.file);
  if (block.last > tree_->n_entries()) {
    throw InputError(file_->path() + ": has " + std::to_string(tree_->n_entries()) +
                     " events, not the " + std::to_string(block.last) +
                     " of its index: it changed since it was indexed");
  }
  block_ = block;
  ids_->load(block.first, block.last);
  lumis.for_each(
      0, ids_->events().size(),
      [this](LumiId lumi, std::size_t first, std::size_t last) { check_lumi(lumi, first, last); });
  for (const auto& each : friends_) {
    if (each.ids) {
      naming_file(each.file->path(), [&] { check_events(each); });
    }
  }
  return ids_->events();
}

/// That a friend has the events of the block, one by one.
void TreeLane::check_events(const OpenFriend& other) const {
  other.ids->load(other.first_entry + block_.first, other.first_entry + block_.last);
  const auto events = ids_->events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (other.ids->events()[i] != events[i] || other.ids->lumi(i) != ids_->lumi(i)) {
      throw InputError(
          other.file->path() + ": entry " +
          std::to_string(other.first_entry + block_.first + static_cast<std::int64_t>(i)) +
          " of tree \"" + other.tree->name() + "\" is another event than entry " +
          std::to_string(block_.first + static_cast<std::int64_t>(i)) + " of " + file_->path() +
          ", whose friend it is to be");
    }
  }
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

TreeLane::Origin TreeLane::origin_of(std::size_t column) const {
  const auto& name = config_.columns[column].name;
  const auto found = config_.friend_columns.find(name);
  if (found == config_.friend_columns.end()) {
    return {*file_, *tree_, name, 0};
  }
  const auto& from = friends_.at(found->second.number);
  return {*from.file, *from.tree, found->second.branch, from.first_entry};
}

BranchReader& TreeLane::reader(std::size_t column, const Origin& origin) {
  auto& reader = readers_[column];
  if (!reader) {
    const auto& wanted = config_.columns[column];
    reader = std::make_unique<BranchReader>(origin.tree.branch(origin.branch), origin.file);
    if (reader->layout().column != wanted.type) {
      throw InputError(origin.file.path() + ": branch \"" + origin.branch + "\" is " +
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
  if (!filled && !tree_->has(wanted.name)) {
    const auto& [value, name] = fill->second;
    const bool has_counter = !name.empty() && tree_->has(name);
    filled = std::make_unique<FilledColumn>(
        wanted.type, value,
        has_counter ? std::make_unique<BranchReader>(tree_->branch(name), *file_) : nullptr);
  }
  return filled.get();
}

void TreeLane::read(std::size_t column, Column& into) {
  const auto origin = origin_of(column);
  naming_file(origin.file.path(), [&] {
    if (auto* instead = filled(column)) {
      return instead->read(block_.first, block_.last, into);
    }
    reader(column, origin)
        .read(origin.first_entry + block_.first, origin.first_entry + block_.last, into);
  });
}

SourceLane::Statistics TreeLane::statistics() const {
  if (!file_) {
    return closed_;
  }
  Statistics all{closed_.read_calls + file_->read_calls(),
                 closed_.read_bytes + file_->read_bytes()};
  for (const auto& each : friends_) {
    all.read_calls += each.own ? each.own->read_calls() : 0;
    all.read_bytes += each.own ? each.own->read_bytes() : 0;
  }
  return all;
}

TreeSource::TreeSource(TreeSourceConfig config) : config_{std::move(config)} {}

std::unique_ptr<SourceLane> TreeSource::make_lane() { return std::make_unique<TreeLane>(config_); }

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
