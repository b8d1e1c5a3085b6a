#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/random/block_random.hpp>

namespace forkrun::random {

/// Words of many events in a row, some hundred at a time: enough for a loop over vectors, few
/// enough to stay in the nearest cache.
class WordReader {
 public:
  static constexpr std::size_t chunk = 256;
  /// Number of pairs planned unconditionally.
  static constexpr std::size_t n_unasked = 2;

  /// `positions` advance as words are read.
  WordReader(PhiloxKey key, std::uint32_t lumi, std::span<const std::uint64_t> events,
             std::span<std::uint64_t> positions, const ValuesPerEvent& values)
      : key_{key}, lumi_{lumi}, events_{events}, positions_{positions}, values_{values} {
    left_ = events.empty() ? 0 : values.of(0);
  }

  /// The next words, at most `chunk`; none at the end. Valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> next();

 private:
  void make_one_each();
  void plan_event();
  void move_to_next_event();
  void make_planned_pairs();
  void place_words();

  PhiloxKey key_;
  std::uint32_t lumi_;
  std::span<const std::uint64_t> events_;
  std::span<std::uint64_t> positions_;
  const ValuesPerEvent& values_;
  std::size_t at_{};    ///< number of the event
  std::size_t left_{};  ///< words still to read

  std::size_t n_pairs_{};
  std::size_t n_words_{};
  std::array<std::uint64_t, chunk + philox_padding> numbers_, pair_events_, first_, second_;
  /// Place of the first word used of each pair; lowest bit: whether it is the pair's second word.
  std::array<std::uint32_t, chunk + n_unasked> places_;
  std::array<std::uint64_t, chunk + 1> words_;
};

}  // namespace forkrun::random
