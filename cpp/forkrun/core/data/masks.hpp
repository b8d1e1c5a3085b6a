#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// Masks of a lane: one byte per event, 0 or 1; mask 0 accepts all events. Processed in words of
/// eight events; the bytes after the last event are always 0. Each mask has its own cache lines.
class Masks {
 public:
  explicit Masks(std::size_t n_masks) : n_masks_{n_masks} {}

  /// Resizes for a block of `n_events`. Only mask 0 has content afterwards.
  void resize(std::size_t n_events) {
    if (n_events != n_events_) {
      make_room(n_events);
    }
  }

  [[nodiscard]] std::span<std::uint8_t> operator[](std::size_t mask) const {
    return {reinterpret_cast<std::uint8_t*>(words(mask)), n_events_};
  }

  void accept_all(std::size_t mask) const { copy(mask, 0); }
  void accept_none(std::size_t mask) const;

  /// Makes every non-zero byte 1.
  void normalise(std::size_t mask) const {
    if (is_small()) {
      for (auto& byte : (*this)[mask]) {
        byte = byte != 0 ? 1 : 0;
      }
      return;
    }
    constexpr std::uint64_t low_bits = 0x7f7f7f7f7f7f7f7f;
    constexpr std::uint64_t ones = 0x0101010101010101;
    auto* const to = words(mask);
    for (std::size_t i = 0; i < n_words_; ++i) {
      // Adding 0x7f carries into the highest bit of a byte if any of its other bits is set.
      to[i] = (((to[i] & low_bits) + low_bits) | to[i]) >> 7U & ones;
    }
  }

  /// Whether any event is accepted.
  [[nodiscard]] bool any(std::size_t mask) const {
    if (is_small()) {
      std::uint8_t any = 0;
      for (const auto byte : (*this)[mask]) {
        any |= byte;
      }
      return any != 0;
    }
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < n_words_; ++i) {
      any |= words(mask)[i];
    }
    return any != 0;
  }

  /// mask = a and b. False if no event is left.
  bool set_both(std::size_t mask, std::size_t a, std::size_t b) const;
  /// mask = mask or other.
  void add(std::size_t mask, std::size_t other) const;

 private:
  static constexpr std::size_t words_per_line = 8;

  /// Reading a word while one of its bytes is still being written stalls the processor: few events
  /// are processed byte by byte.
  [[nodiscard]] bool is_small() const { return n_events_ < 8; }

  [[nodiscard]] std::uint64_t* words(std::size_t mask) const { return words_ + mask * stride_; }
  void copy(std::size_t mask, std::size_t from) const {
    auto* const to = words(mask);
    const auto* const source = words(from);
    for (std::size_t i = 0; i < n_words_; ++i) {
      to[i] = source[i];
    }
  }
  void make_room(std::size_t n_events);

  std::size_t n_masks_;
  std::size_t n_events_{};
  std::size_t n_words_{};
  std::size_t stride_{};  ///< words from one mask to the next
  CacheLineVector<std::uint64_t> memory_;
  std::uint64_t* words_{};  ///< the memory
};

/// Runs of events for which the mask is 1.
[[nodiscard]] std::vector<EntryRun> runs_of(std::span<const std::uint8_t> mask);

/// Gathers columns of a block in the events for which a mask is 1. Equal offsets are shared.
class EventsLeft {
 public:
  explicit EventsLeft(std::span<const std::uint8_t> mask) : runs_{runs_of(mask)} {}

  /// The values of a column, which stays as it is as long as this object.
  [[nodiscard]] Column gather(const Column& from);

 private:
  struct Lists {
    std::span<const std::int64_t> from;  ///< offsets in the block
    Column left;                         ///< offsets of the lists left
    std::vector<EntryRun> items;         ///< runs of their items
  };
  const Lists& lists_of(const Column& from);
  std::vector<EntryRun> runs_;
  std::vector<Lists> known_;
};

}  // namespace forkrun
