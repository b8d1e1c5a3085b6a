#include <forkrun/formats/lcio/event_file.hpp>

#include <algorithm>
#include <array>
#include <span>

#include <forkrun/core/data/error_context.hpp>

namespace forkrun::lcio {

namespace {

constexpr std::int64_t no_header = -1;

}  // namespace

bool begins_like_lcio(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && big_endian<std::uint32_t>(&bytes[4]) == record_marker;
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

std::vector<std::byte> EventFile::restored(const RecordHead& head) const {
  ReadAccount account;
  std::vector<std::byte> stored(head.n_stored);
  std::vector<std::byte> data(head.n_data);
  read(head.data_place(), stored, account);
  restore(head, stored, data);
  return data;
}

void EventFile::find_records() {
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
                     ": the file ends behind the header of an event: it is truncated");
  }
}

/// `header`: place of the header of an event whose own record is to come, or none.
void EventFile::note(const RecordHead& head, std::int64_t& header) {
  if (head.name == "LCRunHeader") {
    runs_.push_back(head);
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
