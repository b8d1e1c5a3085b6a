#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/random/event_random.hpp>

namespace forkrun {

/// Numbers of values of the events.
class ValuesPerEvent {
 public:
  /// The same number for all.
  explicit ValuesPerEvent(std::size_t n) : n_{n} {}
  /// Numbers of a jagged column; (n_events + 1,).
  explicit ValuesPerEvent(std::span<const std::int64_t> offsets) : offsets_{offsets} {}

  [[nodiscard]] std::size_t of(std::size_t event) const {
    return offsets_.empty() ? n_ : static_cast<std::size_t>(offsets_[event + 1] - offsets_[event]);
  }
  /// Numbers of `n_events` events from `first` on.
  [[nodiscard]] ValuesPerEvent part(std::size_t first, std::size_t n_events) const {
    return offsets_.empty() ? *this : ValuesPerEvent{offsets_.subspan(first, n_events + 1)};
  }
  [[nodiscard]] bool are_one() const { return offsets_.empty() && n_ == 1; }
  [[nodiscard]] std::size_t of_all(std::size_t n_events) const {
    return offsets_.empty() ? n_ * n_events : static_cast<std::size_t>(offsets_.back());
  }

 private:
  std::size_t n_{};
  std::span<const std::int64_t> offsets_;
};

/// Consecutive events of one lumi of a block, before event number `last`.
struct LumiOfEvents {
  std::uint32_t run{};
  std::uint32_t lumi{};
  std::size_t last{};
};

/// Random numbers of one module for all events of a block: the same as from an EventRandom for each
/// event, call by call, but faster. Values of an event are consecutive, and events in order: `into`
/// has (values.of_all(n_events),). Each call continues the events' streams after the previous one.
/// A parameter is one value, or one for each value drawn. Calls throw std::invalid_argument for
/// invalid parameters.
class BlockRandom {
 public:
  /// `lumis`: of the events, in order; the last one ends with them.
  BlockRandom(RandomKey key, std::span<const LumiOfEvents> lumis,
              std::span<const std::uint64_t> events);

  [[nodiscard]] std::size_t n_events() const { return events_.size(); }

  void uniform(const ValuesPerEvent& values, random::Parameter<double> low,
               random::Parameter<double> high, double* into);
  void normal(const ValuesPerEvent& values, random::Parameter<double> location,
              random::Parameter<double> scale, double* into);
  void exponential(const ValuesPerEvent& values, random::Parameter<double> scale, double* into);
  void integers(const ValuesPerEvent& values, random::Parameter<std::int64_t> low,
                random::Parameter<std::int64_t> high, std::int64_t* into);
  void poisson(const ValuesPerEvent& values, random::Parameter<double> mean, std::int64_t* into);
  /// Words of the stream: of all events, or of the event with this number in the block.
  void words(const ValuesPerEvent& values, std::uint64_t* into);
  void words_of(std::size_t event, std::span<std::uint64_t> into);

 private:
  template <typename UseWords>
  void for_words(const ValuesPerEvent& values, UseWords use);
  template <typename DrawValue>
  void for_values(const ValuesPerEvent& values, DrawValue draw, std::int64_t* into);

  /// Events [first, last) of the block, which are of one lumi.
  struct OfLumi {
    random::PhiloxKey key;
    std::uint32_t lumi{};
    std::size_t first{};
    std::size_t last{};
  };

  [[nodiscard]] const OfLumi& lumi_of(std::size_t event) const;

  std::vector<OfLumi> lumis_;
  std::vector<std::uint64_t> events_;
  std::vector<std::uint64_t> positions_;  ///< by event: words taken
};

}  // namespace forkrun
