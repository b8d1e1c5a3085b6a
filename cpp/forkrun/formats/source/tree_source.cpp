#include <forkrun/formats/source/tree_source.hpp>

#include <algorithm>
#include <array>
#include <iterator>

#include <forkrun/core/data/cut_into_blocks.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/source/reading_order.hpp>

namespace forkrun::root_io {

namespace {

std::uint32_t number_of(const std::unique_ptr<SourceFile>& file) { return file->number(); }

std::string text_of(LumiId lumi) {
  return std::to_string(lumi.run) + ":" + std::to_string(lumi.lumi);
}

}  // namespace

void EntriesAhead::expect(EntryRanges ranges) {
  const std::lock_guard lock{mutex_};
  expected_.clear();
  for (const auto& [file, first, last] : ranges) {
    expected_[{file, first}] = last;
  }
}

void EntriesAhead::begin(EntryRanges unit) {
  const std::lock_guard lock{mutex_};
  of_unit_before_ = std::move(of_unit_);
  of_unit_.assign(unit.begin(), unit.end());
}

std::int64_t EntriesAhead::end_of(std::uint32_t file, std::int64_t first, std::int64_t last) const {
  const std::lock_guard lock{mutex_};
  const auto after = expected_.upper_bound({file, first});
  if (after != expected_.begin()) {
    const auto& [begin, end] = *std::prev(after);
    if (begin.first == file && last <= end) {
      return end;
    }
  }
  for (const auto* ranges : {&of_unit_, &of_unit_before_}) {
    for (const auto& range : *ranges) {
      if (range.file == file && range.first <= first && last <= range.last) {
        return range.last;
      }
    }
  }
  return last;
}

namespace {

std::shared_ptr<UnpackedRoom> room_of(std::size_t n_bytes) {
  return n_bytes > 0 ? std::make_shared<UnpackedRoom>(n_bytes) : nullptr;
}

}  // namespace

TreeSourceConfig::TreeSourceConfig(const EventSource& events)
    : EventSource{events}, unpacked_room{room_of(n_kept_bytes)} {
  for (std::size_t column = 0; column < columns.size(); ++column) {
    if (std::ranges::find(expected, columns[column].name) != expected.end()) {
      expected_columns.push_back(column);
    }
  }
  for (const auto& each : friends) {
    friend_rooms.push_back(room_of(each.n_kept_bytes));
  }
}

TreeLane::TreeLane(const TreeSourceConfig& config) : config_{config} {}

TreeLane::~TreeLane() = default;

void TreeLane::open(std::uint32_t file) { open_files(std::array{EntryRange{file, 0, 0}}); }

/// Closes all files except those of the pieces, then opens missing ones.
void TreeLane::open_files(EntryRanges pieces) {
  std::vector<std::uint32_t> numbers;
  for (const auto& piece : pieces) {
    if (numbers.empty() || numbers.back() != piece.file) {
      numbers.push_back(piece.file);
    }
  }
  std::erase_if(files_, [&](const auto& file) {
    if (std::ranges::binary_search(numbers, file->number())) {
      return false;
    }
    closed_ += file->statistics();
    return true;
  });
  for (const auto number : numbers) {
    if (std::ranges::find(files_, number, number_of) == files_.end()) {
      ++generation_;
      files_.push_back(std::make_unique<SourceFile>(config_, number));
    }
  }
}

SourceFile& TreeLane::file_of(const EntryRange& piece) const {
  return **std::ranges::find(files_, piece.file, number_of);
}

std::span<const std::uint64_t> TreeLane::load(EntryRanges block, const BlockLumis& lumis) {
  block_.assign(block.begin(), block.end());
  order_ = ReadingOrder{block};
  const auto pieces = order_.pieces();
  open_files(pieces);
  for (const auto& file : files_) {
    file->begin_block();
  }
  if (order_.is_block() && pieces.size() == 1) {
    const auto& ids = file_of(pieces[0]).load(pieces[0].first, pieces[0].last);
    check_lumis(lumis, ids.events().size(), [&ids](std::size_t event) { return ids.lumi(event); });
    return ids.events();
  }
  load_ids();
  check_lumis(lumis, events_.size(), [this](std::size_t event) { return lumis_[event]; });
  return events_;
}

void TreeLane::load_ids() {
  std::vector<std::uint64_t> events;
  std::vector<LumiId> lumis;
  for (const auto& piece : order_.pieces()) {
    const auto& ids = file_of(piece).load(piece.first, piece.last);
    events.insert(events.end(), ids.events().begin(), ids.events().end());
    for (std::size_t i = 0; i < ids.events().size(); ++i) {
      lumis.push_back(ids.lumi(i));
    }
  }
  events_.clear();
  lumis_.clear();
  for (const auto& [first, last] : order_.slices()) {
    events_.insert(events_.end(), &events[first], &events[first] + (last - first));
    lumis_.insert(lumis_.end(), &lumis[first], &lumis[first] + (last - first));
  }
}

template <typename LumiOf>
void TreeLane::check_lumis(const BlockLumis& lumis, std::size_t n_events,
                           const LumiOf& lumi_of) const {
  lumis.for_each(0, n_events, [&](LumiId wanted, std::size_t first, std::size_t last) {
    for (auto i = first; i < last; ++i) {
      if (lumi_of(i) != wanted) {
        throw_other_lumi(i, lumi_of(i), wanted);
      }
    }
  });
}

void TreeLane::throw_other_lumi(std::size_t event, LumiId found, LumiId wanted) const {
  auto range = block_.begin();
  auto place = static_cast<std::int64_t>(event);
  for (; place >= range->last - range->first; ++range) {
    place -= range->last - range->first;
  }
  throw InputError(config_.files[range->file] + ": entry " + std::to_string(range->first + place) +
                   " is of lumi " + text_of(found) + ", not " + text_of(wanted) +
                   " as in its index: it changed since it was indexed");
}

void TreeLane::read(std::size_t column, Column& into) {
  read_block([column](SourceFile& file, const EntryRange& piece,
                      Column& part) { file.read(column, piece.first, piece.last, part); },
             into);
}

void TreeLane::read_stored(const std::string& name, Column& into) {
  read_block([&name](SourceFile& file, const EntryRange& piece,
                     Column& part) { file.read_branch(name, piece.first, piece.last, part); },
             into);
}

bool TreeLane::has_stored(const std::string& name) const {
  return std::ranges::all_of(order_.pieces(),
                             [&](const auto& piece) { return file_of(piece).has(name); });
}

void TreeLane::read_block(const ReadPiece& read, Column& into) const {
  const auto pieces = order_.pieces();
  if (order_.is_block() && pieces.size() == 1) {
    return read(file_of(pieces[0]), pieces[0], into);
  }
  Column part;
  JoinedColumn joined;
  for (const auto& piece : pieces) {
    read(file_of(piece), piece, part);
    if (&piece == pieces.data()) {
      joined.begin(part.type(), static_cast<std::size_t>(n_events_of(pieces)));
    }
    joined.add(part, 0, part.n_events());
  }
  if (order_.is_block()) {
    return joined.fill(into);
  }
  joined.fill(part);
  joined.begin(part.type(), static_cast<std::size_t>(n_events_of(block_)));
  for (const auto& [first, last] : order_.slices()) {
    joined.add(part, first, last);
  }
  joined.fill(into);
}

SourceLane::Statistics TreeLane::statistics() const {
  auto all = closed_;
  for (const auto& file : files_) {
    all += file->statistics();
  }
  return all;
}

std::unique_ptr<SourceLane> TreeSource::make_lane() {
  config_.lane_baskets->add_lane();
  return std::make_unique<TreeLane>(config_);
}

void TreeSource::cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const {
  config_.ahead->begin(unit.ranges);
  const bool chooses = block_size == 0;
  const bool shares = chooses && config_.lane_baskets->has_several_lanes();
  const auto size = static_cast<std::int64_t>(chooses ? default_block_size : block_size);
  const auto most = shares ? static_cast<std::int64_t>(most_of_cluster) : size;
  join_into_blocks(unit.ranges, config_.clusters, {size, most}, blocks);
}

}  // namespace forkrun::root_io
