#include <forkrun/formats/source/friend_reader.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/formats/source/filled_column.hpp>
#include <forkrun/formats/source/reading_order.hpp>

namespace forkrun::root_io {

FriendReader::FriendReader(const FriendTree& tree, std::shared_ptr<UnpackedRoom> room,
                           TreeFile& of_events, std::int64_t n_events, std::uint32_t number,
                           std::size_t n_columns)
    : tree_{tree},
      room_{std::move(room)},
      part_{tree.parts.at(number)},
      of_events_{of_events},
      n_events_{n_events},
      number_{number},
      n_columns_{n_columns},
      files_(part_.files.size()) {}

std::vector<FriendReader::Run> FriendReader::runs_of(std::int64_t first, std::int64_t last) const {
  const auto& [firsts, files, entries, repeats] = part_.entries;
  std::vector<Run> runs;
  const auto begin = std::ranges::upper_bound(firsts, first) - firsts.begin();
  for (auto n = static_cast<std::size_t>(std::max<std::ptrdiff_t>(begin, 1) - 1);
       n < firsts.size() && firsts[n] < last; ++n) {
    const auto end = std::min(n + 1 < firsts.size() ? firsts[n + 1] : n_events_, last);
    const auto from = std::max(firsts[n], first);
    const auto shift = repeats[n] != 0 ? 0 : from - firsts[n];
    runs.push_back({end - from, files[n], entries[n] + shift, repeats[n] != 0});
  }
  return runs;
}

void FriendReader::load(std::int64_t first, std::int64_t last, const EventIds& events) {
  auto& loaded = loaded_[{first, last}];
  loaded.runs = runs_of(first, last);
  for (const auto& run : loaded.runs) {
    if (run.has_partners()) {
      open(static_cast<std::size_t>(run.file));
      check_events(run, first, events);
    }
  }
  loaded.order = order_of(loaded.runs);
}

/// Ids of the partners.
ReadingOrder FriendReader::order_of(std::span<const Run> runs) const {
  std::vector<EntryRange> wanted;
  for (const auto& run : runs) {
    if (run.has_partners()) {
      wanted.push_back({static_cast<std::uint32_t>(run.file), run.entry, run.last()});
    }
  }
  return ReadingOrder{wanted};
}

void FriendReader::open(std::size_t file) {
  auto& opened = files_.at(file);
  if (opened.file != nullptr) {
    return;
  }
  const auto& [path, tree, identity] = part_.files[file];
  naming_file(path, [&, &path = path, &tree = tree, &identity = identity] {
    OpenFile made;
    if (path != of_events_.path()) {
      made.own = std::make_unique<TreeFile>(path);
      made.own->check_identity(identity);
      made.own->keep_unpacked(room_);
    }
    made.file = made.own ? made.own.get() : &of_events_;
    made.table = event_table(*made.file, tree);
    if (!tree_.ids.event.empty()) {
      made.ids = std::make_unique<EventIds>(*made.table, path, tree_.ids, number_);
    }
    made.readers.resize(n_columns_);
    opened = std::move(made);
  });
}

/// Checks that the friend has these events from the first entry on, if it has ids.
void FriendReader::check_events(const Run& run, std::int64_t first, const EventIds& events) const {
  const auto& [own, file, table, ids, readers, parts] = files_[static_cast<std::size_t>(run.file)];
  if (table->n_entries() < run.last()) {
    throw InputError(file->path() + ": tree \"" + table->name() + "\" has " +
                     counted(table->n_entries(), "entry", "entries") +
                     ", too few to be a friend of " + of_events_.path());
  }
  if (!ids) {
    return;
  }
  naming_file(file->path(), [&, &ids = ids] { ids->load(run.entry, run.last()); });
  for (std::size_t i = 0; i < events.events().size(); ++i) {
    if (ids->events()[i] != events.events()[i] || ids->lumi(i) != events.lumi(i)) {
      const auto place = static_cast<std::int64_t>(i);
      throw InputError(file->path() + ": entry " + std::to_string(run.entry + place) +
                       " of tree \"" + table->name() + "\" is another event than entry " +
                       std::to_string(first + place) + " of " + of_events_.path() +
                       ", whose friend it is to be");
    }
  }
}

void FriendReader::read(std::size_t column, const FriendColumn& from, ColumnType wanted,
                        std::int64_t first, std::int64_t last, Column& into) {
  const auto& loaded = loaded_.at({first, last});
  const auto& runs = loaded.runs;
  if (runs.size() == 1 && runs.front().has_partners() && !runs.front().repeats) {
    return read_entries(column, from, wanted, loaded.order.pieces().front(), into);
  }
  read_runs(column, from, wanted, loaded, into);
}

void FriendReader::read_runs(std::size_t column, const FriendColumn& from, ColumnType wanted,
                             const Loaded& loaded, Column& into) {
  Column part;
  JoinedColumn joined;
  const auto pieces = loaded.order.pieces();
  joined.begin(wanted, static_cast<std::size_t>(n_events_of(pieces)));
  for (const auto& piece : pieces) {
    read_entries(column, from, wanted, piece, part);
    joined.add(part, 0, part.n_events());
  }
  joined.fill(part);
  Column filled;
  FilledColumn{wanted, from.fill, nullptr}.read(0, 1, filled);
  auto slice = loaded.order.slices().begin();
  joined.begin(wanted, 0);
  for (const auto& run : loaded.runs) {
    const auto n_times = run.has_partners() && !run.repeats ? 1 : run.n_entries;
    for (std::int64_t i = 0; i < n_times; ++i) {
      run.has_partners() ? joined.add(part, slice->first, slice->last) : joined.add(filled, 0, 1);
    }
    slice += run.has_partners() ? 1 : 0;
  }
  joined.fill(into);
}

void FriendReader::read_entries(std::size_t column, const FriendColumn& from, ColumnType wanted,
                                const EntryRange& entries, Column& into) {
  naming_file(files_[entries.file].file->path(), [&] {
    reader(entries.file, column, from, wanted).read(entries.first, entries.last, into);
  });
}

ColumnReader& FriendReader::reader(std::size_t file, std::size_t column, const FriendColumn& from,
                                   ColumnType wanted) {
  auto& opened = files_[file];
  auto& reader = opened.readers[column];
  if (!reader) {
    reader = column_reader(*opened.table, opened.file->path(), from.branch, wanted);
  }
  return *reader;
}

bool FriendReader::is_remote() const {
  return std::ranges::any_of(part_.files, [this](const auto& file) {
    return file.path != of_events_.path() && !LocalFile::is_path(file.path);
  });
}

void FriendReader::add_parts(std::size_t column, const FriendColumn& from, ColumnType wanted,
                             std::int64_t first, std::int64_t last) {
  const auto order = order_of(runs_of(first, last));
  for (const auto& piece : order.pieces()) {
    open(piece.file);
    auto& opened = files_[piece.file];
    if (!opened.file->is_local()) {
      reader(piece.file, column, from, wanted).add_parts(piece.first, piece.last, opened.parts);
    }
  }
}

void FriendReader::expect(std::int64_t first, std::int64_t last,
                          std::vector<StoredPart>& of_events) {
  const auto order = order_of(runs_of(first, last));
  for (const auto& piece : order.pieces()) {
    auto& opened = files_[piece.file];
    if (opened.ids && !opened.file->is_local()) {
      opened.ids->add_parts(piece.first, piece.last, opened.parts);
    }
  }
  for (auto& opened : files_) {
    auto parts = std::exchange(opened.parts, {});
    if (opened.own) {
      opened.own->expect(in_order(std::move(parts)));
    } else {
      of_events.insert(of_events.end(), parts.begin(), parts.end());
    }
  }
}

SourceLane::Statistics FriendReader::statistics() const {
  SourceLane::Statistics all;
  for (const auto& each : files_) {
    if (each.own) {
      all += each.own->statistics();
    }
  }
  return all;
}

}  // namespace forkrun::root_io
