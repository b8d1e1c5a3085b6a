#include <forkrun/core/run/activity.hpp>

#include <algorithm>

namespace forkrun {

void Activity::spread(Kind kind, std::int64_t start_ns, std::int64_t end_ns, std::int64_t sign) {
  const auto begin = std::max<std::int64_t>(start_ns - origin_ns_, 0);
  const auto end = end_ns - origin_ns_;
  if (end <= begin) {
    return;
  }
  while (static_cast<std::size_t>((end - 1) >> length_bits_) >= most_pieces) {
    halve(pieces_);
    ++length_bits_;
  }
  const auto first = begin >> length_bits_, last = (end - 1) >> length_bits_;
  if (static_cast<std::size_t>(last) >= pieces_.size()) {
    pieces_.resize(static_cast<std::size_t>(last) + 1);
  }
  for (auto at = first; at <= last; ++at) {
    const auto from = std::max(begin, at << length_bits_);
    const auto to = std::min(end, (at + 1) << length_bits_);
    pieces_[static_cast<std::size_t>(at)][static_cast<std::size_t>(kind)] += sign * (to - from);
  }
}

void Activity::halve(std::vector<Piece>& pieces) {
  const auto n = pieces.size();
  for (std::size_t at = 0; at < n; ++at) {
    auto& into = pieces[at / 2];
    const auto from = pieces[at];
    for (std::size_t kind = 0; kind < n_kinds; ++kind) {
      into[kind] = from[kind] + (at % 2 == 0 ? 0 : into[kind]);
    }
  }
  pieces.resize((n + 1) / 2);
}

std::vector<Activity::Piece> Activity::pieces(unsigned length_bits) const {
  auto pieces = pieces_;
  for (auto bits = length_bits_; bits < length_bits; ++bits) {
    halve(pieces);
  }
  return pieces;
}

}  // namespace forkrun
