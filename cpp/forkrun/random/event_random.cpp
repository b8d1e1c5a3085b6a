#include <forkrun/random/event_random.hpp>

#include <stdexcept>
#include <string>

namespace forkrun {

void check_integers(std::int64_t low, std::int64_t high) {
  if (low >= high) {
    throw std::invalid_argument{"integers in [" + std::to_string(low) + ", " +
                                std::to_string(high) + ") contain no value"};
  }
}

void check_poisson_mean(double mean) {
  if (!(mean >= 0.0 && mean <= random::largest_poisson_mean)) {
    throw std::invalid_argument{"a Poisson mean must be between 0 and 1e12, not " +
                                std::to_string(mean)};
  }
}

std::int64_t EventRandom::integers(std::int64_t low, std::int64_t high) {
  check_integers(low, high);
  const auto n = random::n_integers(low, high);
  const auto word = (*this)();
  return random::words_per_integer(n) == 1 ? random::integer_value(word, low, n)
                                           : random::integer_value(word, (*this)(), low, n);
}

std::int64_t EventRandom::poisson(double mean) {
  check_poisson_mean(mean);
  return poisson(random::Poisson{mean});
}

void random::fail_at_end() {
  throw std::length_error{"one event has used all of its 2^33 random words"};
}

}  // namespace forkrun
