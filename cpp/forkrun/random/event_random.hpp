#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <forkrun/random/mixing.hpp>
#include <forkrun/random/philox.hpp>
#include <forkrun/random/poisson.hpp>

namespace forkrun {

/// Selects a module's random numbers. A handle, got from `Construction::random` and kept as a
/// member of a module; `block.random(key, event)` gives the numbers of an event.
struct RandomKey {
  std::uint64_t value{};
  bool operator==(const RandomKey&) const = default;
};

/// mix(mix(seed + 0x9e3779b97f4a7c15) ^ FNV-1a of the stream's name), all in 64 bits.
[[nodiscard]] constexpr RandomKey random_key(std::uint64_t seed, std::string_view stream) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : stream) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return {mix(mix(seed + 0x9e3779b97f4a7c15U) ^ hash)};
}

/// Philox's key of a run: mix(key ^ run * 0x9e3779b97f4a7c15), low half first. A bijection of the
/// run: with lumi, event and position in the counter, no two numbers of a module are the same call.
[[nodiscard]] constexpr random::PhiloxKey philox_key(RandomKey key, std::uint32_t run) {
  const auto mixed = mix(key.value ^ (run * 0x9e3779b97f4a7c15U));
  return {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32U)};
}

namespace random {
[[noreturn]] void fail_at_end();
/// \throws std::length_error at the end of an event's stream
inline void check_position(std::uint64_t position) {
  if (position >> 33U != 0) [[unlikely]] {
    fail_at_end();
  }
}
}  // namespace random

/// Random numbers of one module for one event: a sequence of 64-bit words, taken in order by the
/// calls below. It depends only on seed, stream name, run, lumi and event. Small and cheap to make;
/// copies continue independently.
///
/// Also a UniformRandomBitGenerator, for <algorithm> and <random>; but distributions of the
/// standard library differ from library to library.
class EventRandom {
 public:
  using result_type = std::uint64_t;
  [[nodiscard]] static constexpr result_type min() { return 0; }
  [[nodiscard]] static constexpr result_type max() {
    return std::numeric_limits<result_type>::max();
  }

  EventRandom(random::PhiloxKey key, std::uint32_t lumi, std::uint64_t event,
              std::uint64_t position = 0)
      : key_{key}, lumi_{lumi}, event_{event}, position_{position} {
    if (position % 2 != 0) {
      make_pair();
    }
  }
  EventRandom(RandomKey key, std::uint32_t run, std::uint32_t lumi, std::uint64_t event)
      : EventRandom{philox_key(key, run), lumi, event} {}

  /// The next word. \throws std::length_error after 2^33 of them
  result_type operator()() {
    if (position_ % 2 != 0) {
      ++position_;
      return pair_.second;
    }
    make_pair();
    ++position_;
    return pair_.first;
  }

  /// In [0, 1), or [low, high).
  double uniform(double low = 0.0, double high = 1.0) {
    return random::uniform_value((*this)(), low, high);
  }
  double normal(double location = 0.0, double scale = 1.0) {
    return random::normal_value((*this)(), location, scale);
  }
  /// Exponential distribution of mean `scale`.
  double exponential(double scale = 1.0) { return random::exponential_value((*this)(), scale); }
  /// In [low, high). \throws std::invalid_argument if the range is empty
  std::int64_t integers(std::int64_t low, std::int64_t high);
  /// \throws std::invalid_argument unless 0 <= mean <= 1e12
  std::int64_t poisson(double mean);
  std::int64_t poisson(const random::Poisson& poisson) { return poisson(*this); }

  /// Number of words taken.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  void make_pair() {
    random::check_position(position_);
    pair_ = random::word_pair(static_cast<std::uint32_t>(position_ >> 1U), event_, lumi_, key_);
  }

  random::PhiloxKey key_;
  std::uint32_t lumi_;
  std::uint64_t event_;
  std::uint64_t position_;
  random::WordPair pair_{};
};

/// \throws std::invalid_argument with a message for users
void check_integers(std::int64_t low, std::int64_t high);
void check_poisson_mean(double mean);

}  // namespace forkrun
