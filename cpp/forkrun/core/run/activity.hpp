#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forkrun {

/// Activity of a thread over time: its time of each kind, in pieces of one length, which doubles
/// when there would be more than `most_pieces`. So it takes 32 kB for any life time of the process.
class Activity {
 public:
  /// The rest is waiting.
  enum class Kind : std::uint8_t { reading, unpacking, processing, committing };
  static constexpr std::size_t n_kinds = 4;
  static constexpr std::size_t most_pieces = 1024;
  static constexpr unsigned first_length_bits = 20;  // about a millisecond
  using Piece = std::array<std::int64_t, n_kinds>;   ///< [ns]

  explicit Activity(std::int64_t origin_ns) : origin_ns_{origin_ns} {}

  /// Adds [start, end) to a kind, or subtracts it, where a piece of another kind lies within.
  void add(Kind kind, std::int64_t start_ns, std::int64_t end_ns) {
    spread(kind, start_ns, end_ns, 1);
  }
  void take_away(Kind kind, std::int64_t start_ns, std::int64_t end_ns) {
    spread(kind, start_ns, end_ns, -1);
  }

  [[nodiscard]] unsigned length_bits() const { return length_bits_; }
  /// The same in longer pieces.
  [[nodiscard]] std::vector<Piece> pieces(unsigned length_bits) const;

 private:
  void spread(Kind kind, std::int64_t start_ns, std::int64_t end_ns, std::int64_t sign);
  static void halve(std::vector<Piece>& pieces);

  std::int64_t origin_ns_;
  unsigned length_bits_ = first_length_bits;
  std::vector<Piece> pieces_;
};

}  // namespace forkrun
