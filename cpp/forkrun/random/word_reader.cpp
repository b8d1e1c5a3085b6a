#include <forkrun/random/word_reader.hpp>

#include <algorithm>

namespace forkrun::random {

std::span<const std::uint64_t> WordReader::next() {
  n_pairs_ = 0;
  n_words_ = 0;
  if (values_.are_one()) {
    plan_one_each();
  } else {
    while (n_words_ < chunk && move_to_values()) {
      plan_event();
    }
  }
  make_pairs({numbers_.data(),
              pair_events_.data(),
              lumi_,
              {key_[0], key_[1]},
              first_.data(),
              second_.data()},
             n_pairs_);
  place_words();
  return {words_.data(), n_words_};
}

/// To the next event that gets words; false if there is none.
bool WordReader::move_to_values() {
  while (left_ == 0) {
    if (at_ + 1 >= events_.size()) {
      return false;
    }
    ++at_;
    left_ = values_.of(at_);
  }
  return true;
}

/// The usual case: a pair and a word for each event.
void WordReader::plan_one_each() {
  n_pairs_ = n_words_ = std::min(chunk, events_.size() - at_);
  std::copy_n(events_.begin() + static_cast<std::ptrdiff_t>(at_), n_pairs_, pair_events_.begin());
  for (std::size_t i = 0; i < n_pairs_; ++i) {
    auto& position = positions_[at_ + i];
    check_position(position);
    numbers_[i] = position >> 1U;
    places_[i] = static_cast<std::uint32_t>((i << 1U) | (position & 1U));
    ++position;
  }
  at_ += n_pairs_;
}

/// As many words of the event as there is room for.
void WordReader::plan_event() {
  auto& position = positions_[at_];
  const auto n_words = std::min(left_, chunk - n_words_);
  check_position(position + n_words - 1);
  const auto half = position & 1U;
  const auto n_pairs = (half + n_words + 1) / 2;
  for (std::size_t i = 0; i < n_pairs; ++i) {
    numbers_[n_pairs_ + i] = (position >> 1U) + i;
    pair_events_[n_pairs_ + i] = events_[at_];
    places_[n_pairs_ + i] = static_cast<std::uint32_t>((n_words_ - half + 2 * i) << 1U);
  }
  places_[n_pairs_] = static_cast<std::uint32_t>((n_words_ << 1U) | half);
  n_pairs_ += n_pairs;
  n_words_ += n_words;
  position += n_words;
  left_ -= n_words;
}

/// In order, and without branches: where one word of a pair is used, the next pair overwrites what
/// comes after it.
void WordReader::place_words() {
  for (std::size_t i = 0; i < n_pairs_; ++i) {
    const auto place = places_[i] >> 1U;
    words_[place] = (places_[i] & 1U) != 0 ? second_[i] : first_[i];
    words_[place + 1] = second_[i];
  }
}

}  // namespace forkrun::random
