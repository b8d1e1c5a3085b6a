#include <forkrun/formats/lcio/event_file.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::lcio {

namespace {

constexpr std::int64_t no_header = -1;
constexpr std::int64_t n_access_record = 136;

/// The block of the record of this name at a place; empty: it is another record.
std::vector<std::byte> record_at(const EventFile& file, std::int64_t place, std::string_view name) {
  const auto head = file.head_at(place);
  return head.name == name ? file.restored(head) : std::vector<std::byte>{};
}

/// Places of run headers and events, from the newest index at the end of a file; none: it has no
/// readable index.
std::vector<std::int64_t> places_in_index(const EventFile& file) {
  constexpr std::size_t at_index = 28, at_next = 44, n_head_of_block = 32;
  std::vector<std::int64_t> places;
  try {
    const auto last = record_at(file, file.n_bytes() - n_access_record, "LCIORandomAccess");
    const auto part = record_at(file, big_endian<std::int64_t>(&last.at(n_head_of_block + at_next)),
                                "LCIORandomAccess");
    const auto data = record_at(
        file, big_endian<std::int64_t>(&part.at(n_head_of_block + at_index)), "LCIOIndex");
    for (const auto& entry : index_entries(data)) {
      places.push_back(entry.place);
    }
  } catch (const UnreadBytes&) {
    throw;
  } catch (const std::exception&) {
    places.clear();
  }
  std::erase_if(places, [&](auto place) { return place < 0 || place >= file.n_bytes(); });
  std::ranges::sort(places);
  return places;
}

}  // namespace

std::vector<IndexEntry> index_entries(std::span<const std::byte> data) {
  constexpr std::uint32_t has_one_run = 1, has_long_offsets = 2;
  std::vector<IndexEntry> entries;
  for_each_block(data, [&](const Block& block) {
    Cursor from{block.content};
    const auto control = from.word();
    const auto least_run = from.word();
    const auto base = from.next<std::int64_t>();
    const auto n = from.count();
    for (std::size_t i = 0; i < n; ++i) {
      const auto run = least_run + ((control & has_one_run) != 0 ? 0 : from.word());
      const auto event = from.next<std::int32_t>();
      const auto offset =
          (control & has_long_offsets) != 0 ? from.next<std::int64_t>() : from.next<std::int32_t>();
      entries.push_back({static_cast<std::int32_t>(run), event, base + offset});
    }
  });
  return entries;
}

EventFile::EventFile(const std::string& path) : path_{path}, bytes_{open_bytes(path)} {
  if (!bytes_) {
    throw InputError(path + ": files of LCIO are not read by this protocol");
  }
  find_records();
}

RecordHead EventFile::head_at(std::int64_t place) const {
  std::array<std::byte, most_head> bytes{};
  ReadAccount account;
  const auto n = bytes_->read(place, bytes, account);
  return record_head(std::span{bytes}.first(static_cast<std::size_t>(n)), place, n_bytes());
}

std::vector<std::byte> EventFile::stored(const RecordHead& head) const {
  ReadAccount account;
  std::vector<std::byte> bytes(head.n_stored);
  read(head.data_place(), bytes, account);
  return bytes;
}

std::vector<std::byte> EventFile::restored(const RecordHead& head) const {
  std::vector<std::byte> data(head.n_data);
  restore(head, stored(head), data);
  return data;
}

void EventFile::check_event(std::size_t entry) const {
  const auto& event = events_.at(entry);
  auto place = event.place;
  try {
    const auto data = restored(head_at(place));
    const auto header = event_header(data);
    place = event.body;
    const auto body = restored(head_at(place));
    std::set<std::string_view> names;
    for_each_block(body, [&](const Block& block) { names.insert(block.name); });
    for (const auto& collection : header.collections) {
      if (!names.contains(collection.name)) {
        throw InputError("the record LCEvent has no block of collection \"" +
                         std::string{collection.name} + "\"");
      }
    }
  } catch (...) {
    rethrow_with_context(path_ + ": entry " + std::to_string(entry) + ", at byte " +
                         std::to_string(place));
  }
}

const RunHeader* EventFile::run_header(std::int32_t run) const {
  const auto found = std::ranges::find(runs_, run, [](const Run& of) { return of.header.run; });
  return found == runs_.end() ? nullptr : &found->header;
}

/// Announces ranges to read: in a remote file, the begins of events in few requests. Without an
/// index of events the whole file is announced.
void EventFile::expect_records() const {
  constexpr std::int64_t n_beginning = 2048;
  std::vector<ByteRange> ranges;
  for (const auto place : places_in_index(*this)) {
    ranges.push_back({place, std::min(n_beginning, n_bytes() - place)});
  }
  if (ranges.empty()) {
    ranges.push_back({0, n_bytes()});
  }
  ReadAccount account;
  bytes_->expect(ranges, account);
}

void EventFile::find_records() {
  if (path_.find("://") != std::string::npos) {
    expect_records();
  }
  std::int64_t place = 0;
  auto header = no_header;
  while (place < n_bytes()) {
    try {
      const auto head = head_at(place);
      note(head, header);
      place = head.end();
    } catch (...) {
      rethrow_with_context(path_ + ": at byte " + std::to_string(place));
    }
  }
  if (header != no_header) {
    throw InputError(path_ + ": at byte " + std::to_string(header) +
                     ": the file ends after the header of an event: it is truncated");
  }
}

/// `header`: place of the header of an event whose own record is still to come, or none.
void EventFile::note(const RecordHead& head, std::int64_t& header) {
  if (head.name == "LCRunHeader") {
    Run run{head, restored(head), {}};
    run.header = lcio::run_header(run.data);
    runs_.push_back(std::move(run));
  } else if (head.name == "LCEventHeader") {
    if (header != no_header) {
      throw InputError("the event before has no record LCEvent");
    }
    header = head.place;
  } else if (head.name == "LCEvent") {
    if (header == no_header) {
      throw InputError("the record LCEvent has no LCEventHeader before it");
    }
    events_.push_back({header, head.place, head.end(), head.n_data});
    header = no_header;
  } else if (head.name == "LCIOIndex") {
    indexes_.push_back(head);
  }
}

void EventFile::read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) const {
  if (bytes_->read(place, into, account) != static_cast<std::int64_t>(into.size())) {
    throw InputError(path_ + ": the file ends before byte " +
                     std::to_string(place + static_cast<std::int64_t>(into.size())) +
                     ": it was shortened");
  }
}

}  // namespace forkrun::lcio
