#include <forkrun/random/word_reader.hpp>

#include <algorithm>

namespace forkrun::random {

std::span<const std::uint64_t> WordReader::next() {
  n_pairs_ = 0;
  n_words_ = 0;
  if (values_.are_one()) {
    make_one_each();
  } else {
    while (n_words_ < chunk && at_ < events_.size()) {
      plan_event();
    }
    make_planned_pairs();
    place_words();
  }
  return {words_.data(), n_words_};
}

/// The usual case: a pair and a word for each event.
void WordReader::make_one_each() {
  n_words_ = std::min(chunk, events_.size() - at_);
  const auto positions = positions_.subspan(at_, n_words_);
  std::ranges::copy(events_.subspan(at_, n_words_), pair_events_.begin());
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < n_words_; ++i) {
    any |= positions[i];
    numbers_[i] = positions[i] >> 1U;
  }
  check_position(any);
  n_pairs_ = n_words_;
  make_planned_pairs();
  for (std::size_t i = 0; i < n_words_; ++i) {
    words_[i] = (positions[i] & 1U) != 0 ? second_[i] : first_[i];
    ++positions[i];
  }
  at_ += n_words_;
}

/// Takes as many words of the event as there is room for. Most events have few: the first pairs are
/// written unconditionally, which costs less than a mispredicted branch.
void WordReader::plan_event() {
  auto& position = positions_[at_];
  const auto n_words = std::min(left_, chunk - n_words_);
  check_position(position + n_words - std::min(n_words, std::size_t{1}));
  const auto half = position & 1U;
  const auto n_pairs = (half + n_words + 1) / 2 - (n_words == 0 ? half : 0);
  const auto plan_pair = [&](std::size_t i) {
    numbers_[n_pairs_ + i] = (position >> 1U) + i;
    pair_events_[n_pairs_ + i] = events_[at_];
    places_[n_pairs_ + i] = static_cast<std::uint32_t>((n_words_ - half + 2 * i) << 1U);
  };
  for (std::size_t i = 0; i < n_unasked; ++i) {
    plan_pair(i);
  }
  for (std::size_t i = n_unasked; i < n_pairs; ++i) {
    plan_pair(i);
  }
  places_[n_pairs_] = static_cast<std::uint32_t>((n_words_ << 1U) | half);
  n_pairs_ += n_pairs;
  n_words_ += n_words;
  position += n_words;
  left_ -= n_words;
  if (left_ == 0) {
    move_to_next_event();
  }
}

void WordReader::move_to_next_event() {
  ++at_;
  left_ = at_ < events_.size() ? values_.of(at_) : 0;
}

void WordReader::make_planned_pairs() {
  make_pairs({numbers_.data(),
              pair_events_.data(),
              lumi_,
              {key_[0], key_[1]},
              first_.data(),
              second_.data()},
             n_pairs_);
}

/// In order, and without branches: where one word of a pair is used, the next pair overwrites the
/// rest.
void WordReader::place_words() {
  for (std::size_t i = 0; i < n_pairs_; ++i) {
    const auto place = places_[i] >> 1U;
    words_[place] = (places_[i] & 1U) != 0 ? second_[i] : first_[i];
    words_[place + 1] = second_[i];
  }
}

}  // namespace forkrun::random
