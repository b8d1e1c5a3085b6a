#include <forkrun/bytes/remote/read_windows.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace forkrun {

namespace {

using State = ReadWindow::State;

constexpr std::int64_t window_bytes = 4 << 20;
constexpr std::int64_t most_bytes_ahead = 3 * window_bytes;
constexpr std::int64_t most_bytes_before = 5 * window_bytes;
/// Two windows, or more smaller ones: at 20 MB/s and 100 ms a link holds 2 MB.
constexpr std::int64_t most_bytes_in_flight = 2 * window_bytes;
/// Number of unread windows kept before the latest one read.
constexpr std::uint64_t most_passed_over = 16;
/// Largest gap between two ranges read together, for fewer pieces of a request.
constexpr std::int64_t most_gap_of_windows = 256;

std::int64_t n_bytes_of(std::span<const ByteRange> ranges) {
  std::int64_t n = 0;
  for (const auto& range : ranges) {
    n += range.n_bytes;
  }
  return n;
}

/// In the order of the file. Neighbours are joined, up to the limit of a request.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::place);
  std::vector<ByteRange> pieces;
  for (auto [place, n_bytes, has_checksum] : ranges) {
    if (!pieces.empty() && place <= pieces.back().end() + most_gap_of_windows) {
      has_checksum = has_checksum && pieces.back().has_checksum;
      n_bytes = std::max(place + n_bytes, pieces.back().end()) - pieces.back().place;
      place = pieces.back().place;
      pieces.pop_back();
    }
    for (; n_bytes > RemoteConnection::most_piece_bytes;
         n_bytes -= RemoteConnection::most_piece_bytes) {
      pieces.push_back({place, RemoteConnection::most_piece_bytes, has_checksum});
      place += RemoteConnection::most_piece_bytes;
    }
    pieces.push_back({place, n_bytes, has_checksum});
  }
  return pieces;
}

/// Whether ranges have their own checksums, as far as is known.
void without_checksums(ReadWindow& window) {
  for (auto& range : window.ranges) {
    range.has_checksum = false;
  }
}

}  // namespace

std::int64_t ReadWindow::n_bytes() const { return n_bytes_of(ranges); }

bool ReadWindow::is_verified() const {
  return !std::ranges::all_of(ranges, &ByteRange::has_checksum);
}

std::vector<RemotePiece> ReadWindow::begin() {
  state = State::in_flight;
  problem = {};
  bytes.resize(static_cast<std::size_t>(n_bytes()));
  std::vector<RemotePiece> pieces;
  std::span<std::byte> left{bytes};
  for (const auto& range : ranges) {
    const auto n = static_cast<std::size_t>(range.n_bytes);
    pieces.push_back({range.place, left.first(n)});
    left = left.subspan(n);
  }
  return pieces;
}

bool ReadWindows::knows(const ByteRange& range) const {
  return find(range.place, static_cast<std::size_t>(range.n_bytes)).window != nullptr;
}

/// Extends the last window, if it has room and waits: fewer requests.
void ReadWindows::expect(std::span<const ByteRange> ranges) {
  std::vector<ByteRange> unknown;
  std::ranges::copy_if(ranges, std::back_inserter(unknown), [this](const ByteRange& range) {
    return range.n_bytes > 0 && !knows(range);
  });
  if (unknown.empty()) {
    return;
  }
  auto wanted = take_last();
  auto n_bytes = n_bytes_of(wanted);
  for (auto range : unknown) {
    range.has_checksum = range.has_checksum && !verifies_all_;
    wanted.push_back(range);
    n_bytes += range.n_bytes;
    if (n_bytes >= window_bytes || wanted.size() == RemoteConnection::most_pieces / 2) {
      add_window(joined(std::exchange(wanted, {})));
      n_bytes = 0;
    }
  }
  if (!wanted.empty()) {
    add_window(joined(std::move(wanted)));
  }
}

/// Room of a window that nobody has requested, and that is not full; else nothing.
std::vector<ByteRange> ReadWindows::take_last() {
  if (windows_.empty()) {
    return {};
  }
  const auto last = windows_.back();
  const bool has_room =
      last->n_bytes() < window_bytes && last->ranges.size() < RemoteConnection::most_pieces / 2;
  if (last->state != State::waiting || last->stays || last->problem || !has_room) {
    return {};
  }
  forget(last);
  windows_.pop_back();
  return last->ranges;
}

std::shared_ptr<ReadWindow> ReadWindows::expect_to_stay(std::span<const ByteRange> ranges) {
  auto window = add_window(joined({ranges.begin(), ranges.end()}));
  window->stays = true;
  return window;
}

void ReadWindows::put(std::vector<ByteRange> ranges, std::vector<std::byte> bytes) {
  const auto window = add_window(std::move(ranges));
  window->state = State::here;
  window->bytes = std::move(bytes);
  window->stays = true;
}

std::shared_ptr<ReadWindow> ReadWindows::add_window(std::vector<ByteRange> pieces_of_file) {
  auto window = std::make_shared<ReadWindow>(ReadWindow{++n_windows_, std::move(pieces_of_file)});
  std::size_t offset = 0;
  const auto& pieces = window->ranges;
  for (std::size_t first = 0; first < pieces.size();) {
    auto end = first + 1;  // of pieces that are contiguous in the file
    while (end < pieces.size() && pieces[end].place == pieces[end - 1].end()) {
      ++end;
    }
    const auto n_bytes = pieces[end - 1].end() - pieces[first].place;
    known_.insert_or_assign(pieces[first].place, Known{n_bytes, window, offset});
    offset += static_cast<std::size_t>(n_bytes);
    first = end;
  }
  windows_.push_back(window);
  return window;
}

ReadWindows::Place ReadWindows::find(std::int64_t place, std::size_t n_bytes) const {
  const auto after = known_.upper_bound(place);
  if (after == known_.begin()) {
    return {};
  }
  const auto& [begin, known] = *std::prev(after);
  if (place + static_cast<std::int64_t>(n_bytes) > begin + known.n_bytes) {
    return {};
  }
  return {known.window, known.offset + static_cast<std::size_t>(place - begin)};
}

void ReadWindows::note_read(const ReadWindow& window) {
  newest_read_ = std::max(newest_read_, window.serial);
  const auto ahead =
      std::ranges::lower_bound(windows_, newest_read_, {}, [](const auto& w) { return w->serial; });
  std::int64_t n_before = 0;
  for (const auto& each : std::ranges::subrange(windows_.begin(), ahead)) {
    n_before += each->state == State::here && !each->stays ? each->n_bytes() : 0;
  }
  const auto goes = [&](const auto& each) {
    const bool is_here = each->state == State::here;
    const bool is_old =
        is_here ? !each->stays && n_before > most_bytes_before
                : each->state == State::waiting && each->serial + most_passed_over < newest_read_;
    if (is_old) {
      n_before -= is_here ? each->n_bytes() : 0;
      forget(each);
    }
    return is_old;
  };
  windows_.erase(std::remove_if(windows_.begin(), ahead, goes), ahead);
}

void ReadWindows::forget(const std::shared_ptr<ReadWindow>& window) {
  for (const auto& range : window->ranges) {
    const auto found = known_.find(range.place);
    if (found != known_.end() && found->second.window == window) {
      known_.erase(found);
    }
  }
}

/// Others may still copy from the old windows: new ones take their place.
void ReadWindows::fetch_again(const ByteRange& range) {
  const auto overlaps = [&](const ByteRange& each) {
    return each.place < range.end() && range.place < each.end();
  };
  for (auto& window : windows_) {
    if (window->state != State::here || std::ranges::none_of(window->ranges, overlaps)) {
      continue;
    }
    const auto before = std::exchange(
        window, std::make_shared<ReadWindow>(ReadWindow{window->serial, window->ranges}));
    window->stays = before->stays;
    without_checksums(*window);
    for (auto& [place, known] : known_) {
      known.window = known.window == before ? window : known.window;
    }
  }
}

void ReadWindows::verify_all() {
  verifies_all_ = true;
  for (const auto& window : windows_) {
    if (window->state == State::waiting) {
      without_checksums(*window);
    }
  }
}

std::shared_ptr<ReadWindow> ReadWindows::next() {
  std::int64_t n_in_flight = 0;
  for (const auto& window : windows_) {
    n_in_flight += window->state == State::in_flight ? window->n_bytes() : 0;
  }
  std::int64_t n_ahead = 0;
  for (const auto& window : windows_) {
    if (window->state != State::waiting) {
      n_ahead += window->serial > newest_read_ && !window->stays ? window->n_bytes() : 0;
    } else if (window->serial >= newest_read_ && !window->problem) {
      return n_in_flight < most_bytes_in_flight && n_ahead < most_bytes_ahead ? window : nullptr;
    }
  }
  return nullptr;
}

}  // namespace forkrun
