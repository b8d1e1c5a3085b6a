#include <forkrun/random/block_random.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include <forkrun/random/word_reader.hpp>

namespace forkrun {

using random::Parameter;

namespace {

template <typename T>
std::size_t n_different(Parameter<T> parameter, std::size_t n_values) {
  return parameter.step == 0 ? 1 : n_values;
}

void check_scale(Parameter<double> scale, std::size_t n_values) {
  for (std::size_t i = 0; i < n_different(scale, n_values); ++i) {
    if (scale[i] < 0.0) {
      throw std::invalid_argument{"a scale must not be negative; this one is " +
                                  std::to_string(scale[i])};
    }
  }
}

}  // namespace

BlockRandom::BlockRandom(RandomKey key, std::span<const LumiOfEvents> lumis,
                         std::span<const std::uint64_t> events)
    : events_{events.begin(), events.end()}, positions_(events.size()) {
  std::size_t first = 0;
  for (const auto& lumi : lumis) {
    lumis_.push_back({philox_key(key, lumi.run), lumi.lumi, first, lumi.last});
    first = lumi.last;
  }
}

const BlockRandom::OfLumi& BlockRandom::lumi_of(std::size_t event) const {
  return *std::ranges::upper_bound(lumis_, event, {}, &OfLumi::last);
}

/// Calls use(words, first) for words of consecutive values; `first`: number of the first value.
template <typename UseWords>
void BlockRandom::for_words(const ValuesPerEvent& values, UseWords use) {
  std::size_t first = 0;
  for (const auto& lumi : lumis_) {
    const auto n_events = lumi.last - lumi.first;
    const auto of_lumi = values.part(lumi.first, n_events);
    random::WordReader reader{lumi.key, lumi.lumi, std::span{events_}.subspan(lumi.first, n_events),
                              std::span{positions_}.subspan(lumi.first, n_events), of_lumi};
    for (auto words = reader.next(); !words.empty(); words = reader.next()) {
      use(words, first);
      first += words.size();
    }
  }
}

/// Calls draw(random, value) for every value, which may take any number of words.
template <typename DrawValue>
void BlockRandom::for_values(const ValuesPerEvent& values, DrawValue draw, std::int64_t* into) {
  std::size_t value = 0;
  for (const auto& lumi : lumis_) {
    for (auto event = lumi.first; event < lumi.last; ++event) {
      EventRandom random{lumi.key, lumi.lumi, events_[event], positions_[event]};
      for (const auto last = value + values.of(event); value < last; ++value) {
        into[value] = draw(random, value);
      }
      positions_[event] = random.position();
    }
  }
}

void BlockRandom::uniform(const ValuesPerEvent& values, Parameter<double> low,
                          Parameter<double> high, double* into) {
  for_words(values, [&](auto words, std::size_t first) {
    random::uniform_values(words, low.from(first), high.from(first), into + first);
  });
}

void BlockRandom::normal(const ValuesPerEvent& values, Parameter<double> location,
                         Parameter<double> scale, double* into) {
  check_scale(scale, values.of_all(n_events()));
  for_words(values, [&](auto words, std::size_t first) {
    random::normal_values(words, location.from(first), scale.from(first), into + first);
  });
}

void BlockRandom::exponential(const ValuesPerEvent& values, Parameter<double> scale, double* into) {
  check_scale(scale, values.of_all(n_events()));
  for_words(values, [&](auto words, std::size_t first) {
    random::exponential_values(words, scale.from(first), into + first);
  });
}

void BlockRandom::integers(const ValuesPerEvent& values, Parameter<std::int64_t> low,
                           Parameter<std::int64_t> high, std::int64_t* into) {
  const bool is_same = low.step == 0 && high.step == 0;
  const auto n = is_same ? random::n_integers(low[0], high[0]) : 0;
  if (is_same && low[0] < high[0] && random::words_per_integer(n) == 1) {
    for_words(values, [&](auto words, std::size_t first) {
      random::integer_values(words, low[0], n, into + first);
    });
    return;
  }
  for_values(
      values, [&](EventRandom& random, std::size_t i) { return random.integers(low[i], high[i]); },
      into);
}

void BlockRandom::poisson(const ValuesPerEvent& values, Parameter<double> mean,
                          std::int64_t* into) {
  if (mean.step == 0 && mean[0] >= 0.0 && mean[0] < random::smallest_rejection_mean) {
    const random::PoissonTable table{mean[0]};
    for_words(values, [&](auto words, std::size_t first) {
      std::ranges::transform(words, into + first, table);
    });
    return;
  }
  std::optional<random::Poisson> last;
  for_values(
      values,
      [&](EventRandom& random, std::size_t i) {
        if (!last || last->mean() != mean[i]) {
          check_poisson_mean(mean[i]);
          last.emplace(mean[i]);
        }
        return random.poisson(*last);
      },
      into);
}

void BlockRandom::words(const ValuesPerEvent& values, std::uint64_t* into) {
  for_words(values, [&](auto words, std::size_t first) { std::ranges::copy(words, into + first); });
}

void BlockRandom::words_of(std::size_t event, std::span<std::uint64_t> into) {
  const auto& lumi = lumi_of(event);
  EventRandom random{lumi.key, lumi.lumi, events_[event], positions_[event]};
  std::ranges::generate(into, std::ref(random));
  positions_[event] = random.position();
}

}  // namespace forkrun
