#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

[[nodiscard]] inline std::uint64_t n_bytes_of(std::span<const RemotePiece> pieces) {
  std::uint64_t n = 0;
  for (const auto& piece : pieces) {
    n += piece.into.size();
  }
  return n;
}

/// A range read with one request: pieces, and gaps between them.
struct Stretch {
  std::int64_t place{};
  std::int64_t end{};
  std::vector<RemotePiece> pieces{};

  [[nodiscard]] std::size_t n_bytes() const { return static_cast<std::size_t>(end - place); }
  /// Whether the pieces are in memory as in the file.
  [[nodiscard]] bool is_whole() const {
    return pieces.back().into.data() + pieces.back().into.size() ==
           pieces.front().into.data() + n_bytes();
  }
};

/// Joins pieces with at most so many bytes between them.
[[nodiscard]] inline std::vector<Stretch> stretches_of(std::span<const RemotePiece> pieces,
                                                       std::int64_t most_gap) {
  std::vector<Stretch> stretches;
  for (const auto& piece : pieces) {
    if (stretches.empty() || piece.place > stretches.back().end + most_gap) {
      stretches.push_back({piece.place, piece.place, {}});
    }
    stretches.back().end = piece.place + std::ssize(piece.into);
    stretches.back().pieces.push_back(piece);
  }
  return stretches;
}

/// Largest gap between pieces, for ranges longer by at most an eighth: fewer requests.
[[nodiscard]] inline std::int64_t widest_gap(std::span<const RemotePiece> pieces) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    gaps.push_back(pieces[i].place - pieces[i - 1].place - std::ssize(pieces[i - 1].into));
  }
  std::ranges::sort(gaps);
  auto n_left = static_cast<std::int64_t>(n_bytes_of(pieces) / 8);
  std::int64_t widest = 0;
  for (const auto gap : gaps) {
    n_left -= gap;
    if (n_left < 0) {
      return gap == widest ? gap - 1 : widest;  // all of one width, or none
    }
    widest = gap;
  }
  return widest;
}

}  // namespace forkrun
