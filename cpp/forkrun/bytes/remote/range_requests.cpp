#include <forkrun/bytes/remote/range_requests.hpp>

#include <algorithm>
#include <cstring>

namespace forkrun {

namespace {

/// Bytes between two pieces that take no longer than another request, at 20 MB/s and 20 ms, or than
/// the header of another range in the same request.
constexpr std::int64_t most_gap = 256 << 10;
constexpr std::int64_t most_gap_of_ranges = 1 << 10;
constexpr std::int64_t most_request_bytes = 4 << 20;
/// Limit of ranges: several requests of a window are made at the same time.
constexpr std::int64_t most_bytes_of_ranges = 1 << 20;
/// Limit of one header: servers accept some kilobytes.
constexpr std::size_t most_ranges = 100;
/// Limit of a part's header.
constexpr std::size_t most_head_bytes = 4096;
constexpr long status_of_part = 206;

}  // namespace

std::string RangeRequest::header() const {
  std::string text;
  for (const auto& range : ranges) {
    text += (text.empty() ? "" : ",") + std::to_string(range.place) + "-" +
            std::to_string(range.end() - 1);
  }
  return text;
}

std::int64_t RangeRequest::n_bytes() const {
  std::int64_t n = 0;
  for (const auto& range : ranges) {
    n += range.n_bytes;
  }
  return n;
}

bool RangeRequest::add(const RemotePiece& piece, bool takes_many) {
  const ByteRange range{piece.place, std::ssize(piece.into)};
  if (!ranges.empty()) {
    auto& last = ranges.back();
    const auto end = std::max(last.end(), range.end());
    const auto most_bytes = ranges.size() == 1 ? most_request_bytes : most_bytes_of_ranges;
    const auto n_more = end - last.end();
    if (range.place <= last.end() + (takes_many ? most_gap_of_ranges : most_gap)) {
      if (n_bytes() + n_more > most_bytes) {
        return false;
      }
      last.n_bytes += n_more;
      pieces.push_back(piece);
      return true;
    }
    if (!takes_many || ranges.size() == most_ranges ||
        n_bytes() + range.n_bytes > most_bytes_of_ranges) {
      return false;
    }
  }
  ranges.push_back(range);
  pieces.push_back(piece);
  return true;
}

std::vector<RangeRequest> range_requests(std::span<const RemotePiece> pieces, bool takes_many) {
  std::vector<RemotePiece> sorted{pieces.begin(), pieces.end()};
  std::ranges::sort(sorted, {}, &RemotePiece::place);
  std::vector<RangeRequest> requests;
  for (const auto& piece : sorted) {
    if (requests.empty() || !requests.back().add(piece, takes_many)) {
      requests.emplace_back().add(piece, takes_many);
    }
  }
  return requests;
}

RangeAnswer::RangeAnswer(const RangeRequest& request)
    : request_{request}, is_one_{request.ranges.size() == 1} {
  if (is_one_) {
    part_ = request.ranges.front();
  }
}

bool RangeAnswer::begin(long status, std::string_view kind, const ContentRange& content) {
  const bool has_parts = kind.starts_with("multipart/byteranges");
  const bool is_part = status == status_of_part;
  refuses_many_ = !is_one_ && status < 400 && !(is_part && has_parts);
  n_file_bytes_ = content.n_bytes;
  if (is_part && is_one_ && !has_parts && !is_asked_for(content.range)) {
    other_ = content.range;
    return false;
  }
  return is_part && is_one_ != has_parts;
}

bool RangeAnswer::is_asked_for(const ByteRange& told) const {
  const auto& asked = request_.ranges.front();
  return told.place == asked.place && told.n_bytes == asked.n_bytes;
}

bool RangeAnswer::take(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (part_.n_bytes > 0) {
      const auto n = std::min<std::int64_t>(part_.n_bytes, std::ssize(bytes));
      put(bytes.first(static_cast<std::size_t>(n)));
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (!is_one_ && add_to_head(static_cast<char>(bytes.front()))) {
      bytes = bytes.subspan(1);
    } else {
      refuses_many_ = !is_one_;
      return false;
    }
  }
  return true;
}

bool RangeAnswer::is_whole() const {
  std::int64_t n_wanted = 0;
  for (const auto& piece : request_.pieces) {
    n_wanted += std::ssize(piece.into);
  }
  return n_filled_ == n_wanted && part_.n_bytes == 0;
}

/// False if that is malformed. "Content-Range: bytes 12-345/6789" in any case, and an empty line.
bool RangeAnswer::add_to_head(char c) {
  head_.push_back(lower_case(c));
  if (!head_.ends_with("\r\n\r\n")) {
    return head_.size() < most_head_bytes;
  }
  constexpr std::string_view name = "content-range:";
  const auto found = head_.find(name);
  const auto told = found == std::string::npos
                        ? ContentRange{}
                        : ContentRange::of(std::string_view{head_}.substr(found + name.size()));
  head_.clear();
  if (told.range.n_bytes == 0 || told.range.place < part_.end() ||
      told.range.end() > request_.ranges.back().end()) {
    return false;
  }
  n_file_bytes_ = told.n_bytes >= 0 ? told.n_bytes : n_file_bytes_;
  part_ = told.range;
  return true;
}

/// The next bytes of the part.
void RangeAnswer::put(std::span<const std::byte> bytes) {
  const auto begin = part_.place;
  const auto end = begin + std::ssize(bytes);
  const auto& pieces = request_.pieces;
  auto piece = std::ranges::partition_point(
      pieces, [&](const auto& each) { return each.place + std::ssize(each.into) <= begin; });
  for (; piece != pieces.end() && piece->place < end; ++piece) {
    const auto from = std::max(begin, piece->place);
    const auto to = std::min(piece->place + std::ssize(piece->into), end);
    std::memcpy(&piece->into[static_cast<std::size_t>(from - piece->place)],
                &bytes[static_cast<std::size_t>(from - begin)],
                static_cast<std::size_t>(to - from));
    n_filled_ += to - from;
  }
  part_ = {end, part_.n_bytes - std::ssize(bytes)};
}

}  // namespace forkrun
