#include <forkrun/formats/lcio/event_source.hpp>

#include <algorithm>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/cut_into_blocks.hpp>

namespace forkrun::lcio {

namespace {

/// Files that stay open: a block may have events of several.
constexpr std::size_t most_open = 16;
/// Events whose records are in memory at a time, when columns of a whole file are read.
constexpr std::int64_t n_at_a_time = 256;

std::string lumi_text(LumiId lumi) {
  return std::to_string(lumi.run) + ":" + std::to_string(lumi.lumi);
}

/// Members needed for columns, by collection.
WantedMembers members_of_columns(const std::vector<ColumnDescription>& columns,
                                 const std::vector<std::string>& names) {
  WantedMembers wanted;
  for (const auto& column : columns) {
    if (std::ranges::find(names, column.name) != names.end()) {
      const auto key = column_key(column);
      for (auto& member : members_for(key)) {
        wanted[key.collection].push_back(std::move(member));
      }
    }
  }
  return wanted;
}

SourceLane::Statistics statistics_of(const ReadAccount& account) {
  return {account.calls, account.bytes, account.cached_bytes};
}

}  // namespace

/// One block at a time, and its decoded parts.
class EventLane final : public SourceLane {
 public:
  explicit EventLane(EventSource& source) : source_{source}, events_{source.wanted()} {}

  std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& lumis) override {
    std::vector<EventsOfFile> pieces;
    for (const auto& range : block) {
      auto file = source_.file(range.file);
      if (range.last > std::ssize(file->events())) {
        throw InputError(file->path() + ": it has " + counted(file->events().size(), "event") +
                         ", fewer than when it was indexed");
      }
      pieces.push_back({std::move(file), range.first, range.last});
    }
    const auto before = statistics_of(events_.account());
    events_.load(std::move(pieces));
    statistics_ += statistics_of(events_.account()) - before;
    load_ids(lumis);
    return ids_;
  }

  void read(std::size_t column, Column& into) override {
    fill(events_, source_.keys()[column], into);
  }

  [[nodiscard]] Statistics statistics() const override { return statistics_; }

 private:
  void load_ids(const BlockLumis& lumis) {
    ids_.clear();
    for (std::size_t event = 0; event < events_.size(); ++event) {
      const auto id = id_of(events_.header(event), source_.config().events_per_lumi);
      if (const auto wanted = lumis.of(event); LumiId{id.run, id.lumi} != wanted) {
        throw InputError(events_.where(event) + " is of lumi " + lumi_text({id.run, id.lumi}) +
                         ", not " + lumi_text(wanted) +
                         " as in its index: it changed since it was indexed");
      }
      ids_.push_back(id.event);
    }
  }

  EventSource& source_;
  EventBlock events_;
  std::vector<std::uint64_t> ids_;
  Statistics statistics_;
};

EventSource::EventSource(EventSourceConfig config)
    : config_{std::move(config)}, wanted_{members_of_columns(config_.columns, config_.expected)} {
  std::ranges::transform(config_.columns, std::back_inserter(keys_), column_key);
}

std::unique_ptr<SourceLane> EventSource::make_lane() { return std::make_unique<EventLane>(*this); }

void EventSource::cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const {
  const auto size = static_cast<std::int64_t>(block_size == 0 ? default_block_size : block_size);
  constexpr std::size_t most_clusters = 32;
  for (const auto& range : unit.ranges) {
    const auto& clusters = config_.clusters.at(range.file);
    auto first = range.first;
    while (first < range.last) {
      const auto next = std::ranges::upper_bound(clusters, first);
      const auto n_left = static_cast<std::size_t>(clusters.end() - next);
      auto last = n_left > most_clusters ? next[most_clusters - 1] : range.last;
      last = std::min({last, range.last, first + size});
      blocks.begin({range.file, first, last});
      first = last;
    }
  }
}

std::shared_ptr<const EventFile> EventSource::file(std::uint32_t number) {
  const std::lock_guard lock{mutex_};
  if (const auto found = files_.find(number); found != files_.end()) {
    return found->second;
  }
  const auto& indexed = config_.files.at(number);
  auto file = std::make_shared<const EventFile>(indexed.path);
  const auto is_older = indexed.modified_ns != 0 && file->modified_ns() != indexed.modified_ns;
  if (indexed.n_bytes != 0 && (file->n_bytes() != indexed.n_bytes || is_older)) {
    throw InputError(indexed.path + ": the file changed since it was indexed");
  }
  if (files_.size() >= most_open) {
    files_.clear();
  }
  return files_[number] = std::move(file);
}

std::vector<Column> read_columns(const EventFile& file,
                                 const std::vector<ColumnDescription>& columns, std::int64_t first,
                                 std::int64_t last) {
  const auto n_events = std::ssize(file.events());
  const auto end = last < 0 ? n_events : last;
  if (first < 0 || first > end || end > n_events) {
    throw InputError(file.path() + ": no entries " + std::to_string(first) + " to " +
                     std::to_string(end) + "; the file has " + std::to_string(n_events));
  }
  std::vector<std::string> names;
  std::ranges::transform(columns, std::back_inserter(names), &ColumnDescription::name);
  const auto wanted = members_of_columns(columns, names);
  std::vector<ColumnKey> keys;
  std::ranges::transform(columns, std::back_inserter(keys), column_key);
  std::vector<Column> found;
  for (const auto& column : columns) {
    found.emplace_back(column.type);
  }
  EventBlock events{wanted};
  Column part;
  const std::shared_ptr<const EventFile> borrowed{std::shared_ptr<const EventFile>{}, &file};
  for (auto begin = first; begin == first || begin < end; begin += n_at_a_time) {
    events.load({{borrowed, begin, std::min(begin + n_at_a_time, end)}});
    for (std::size_t i = 0; i < columns.size(); ++i) {
      fill(events, keys[i], part);
      found[i].append(part, 0, part.n_events());
    }
  }
  return found;
}

}  // namespace forkrun::lcio
