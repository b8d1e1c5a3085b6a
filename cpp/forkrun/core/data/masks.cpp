#include <forkrun/core/data/masks.hpp>

#include <algorithm>

namespace forkrun {

void Masks::make_room(std::size_t n_events) {
  n_events_ = n_events;
  n_words_ = (n_events + 7) / 8;
  if (n_words_ > stride_) {
    stride_ = (n_words_ + words_per_line - 1) / words_per_line * words_per_line;
    memory_.resize(n_masks_ * stride_);
    words_ = memory_.data();
  }
  // All of them: a smaller mask must be 0 after its last event.
  std::ranges::fill(memory_, std::uint64_t{0});
  std::ranges::fill((*this)[0], std::uint8_t{1});
}

void Masks::accept_none(std::size_t mask) const { std::fill_n(words(mask), n_words_, 0U); }

bool Masks::set_both(std::size_t mask, std::size_t a, std::size_t b) const {
  auto* const to = words(mask);
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < n_words_; ++i) {
    to[i] = words(a)[i] & words(b)[i];
    any |= to[i];
  }
  return any != 0;
}

void Masks::add(std::size_t mask, std::size_t other) const {
  auto* const to = words(mask);
  for (std::size_t i = 0; i < n_words_; ++i) {
    to[i] |= words(other)[i];
  }
}

}  // namespace forkrun
