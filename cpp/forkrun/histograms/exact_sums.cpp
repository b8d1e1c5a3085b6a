#include <forkrun/histograms/exact_sums.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/histograms/fixed_point.hpp>

namespace forkrun {

using namespace fixed_point;

namespace {

constexpr std::size_t most_bytes = 16'000'000'000;

UnsignedWide wide(const Word* words) {
  return static_cast<UnsignedWide>(words[1]) << word_bits | words[0];
}

/// Adds a number times 2^shift. \pre no set bit is shifted out
void add_two_words(Word* to, const Word* number, int shift) {
  const UnsignedWide value = wide(number);
  const UnsignedWide added =
      shift >= 0 ? value << shift : static_cast<UnsignedWide>(static_cast<Wide>(value) >> -shift);
  const UnsignedWide sum = wide(to) + added;
  to[0] = static_cast<Word>(sum);
  to[1] = static_cast<Word>(sum >> word_bits);
}

}  // namespace

ExactSums::ExactSums(std::size_t n_sums, std::size_t n_cells)
    : n_sums_{n_sums}, n_cells_{n_cells}, windows_(n_sums) {
  if (n_sums == 0 || n_sums > most_sums || n_cells > std::numeric_limits<std::uint32_t>::max()) {
    throw Error{"exact sums: " + counted(n_sums, "sum") + " of " + counted(n_cells, "cell") +
                " are too many"};
  }
}

ExactSums ExactSums::of_pairs(Words words, std::span<const int> bases, const Ranges& ranges,
                              std::uint64_t n_adds) {
  ExactSums sums{bases.size(), words.size() / (2 * bases.size())};
  sums.words_ = std::move(words);
  sums.is_dense_ = true;
  sums.n_adds_ = n_adds;
  for (std::size_t s = 0; s < bases.size(); ++s) {
    sums.windows_[s] = {bases[s], ranges[s]};
  }
  return sums;
}

ExactSums::Range ExactSums::Range::joined(Range other) const {
  if (empty() || other.empty()) {
    return empty() ? other : *this;
  }
  return {std::min(low, other.low), std::max(high, other.high)};
}

bool ExactSums::fits(const Ranges& ranges, int n_spare_bits) const {
  const int n_bits = static_cast<int>(n_words_) * word_bits;
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const auto& window = windows_[s];
    const Range all = ranges[s].joined(window.seen);
    if (!all.empty() && (all.low < window.base || all.high + n_spare_bits > window.base + n_bits)) {
      return false;
    }
  }
  return n_words_ > 1;
}

bool ExactSums::has_room(const Ranges& ranges) const {
  for (std::size_t s = 0; s < n_sums_; ++s) {
    if (!windows_[s].seen.contains(ranges[s])) {
      return false;
    }
  }
  return is_dense_ && n_words_ > 1;
}

void ExactSums::make_room(const Ranges& ranges, std::uint64_t n_adds) {
  std::uint64_t n_all = 0;
  if (__builtin_add_overflow(n_adds_, n_adds, &n_all)) {
    throw Error{"exact sums: more than 2^64 values were added"};
  }
  const int n_spare_bits = spare_bits(n_all);
  if (!fits(ranges, n_spare_bits)) {
    widen(ranges, n_spare_bits);
  }
  if (!is_dense_) {
    make_dense();
  }
  static_cast<void>(words_.writable());
  n_adds_ = n_all;
  for (std::size_t s = 0; s < n_sums_; ++s) {
    windows_[s].seen = windows_[s].seen.joined(ranges[s]);
  }
}

void ExactSums::widen(const Ranges& ranges, int n_spare_bits) {
  const auto needed = [&](std::size_t s) {
    Range range = ranges[s].joined(windows_[s].seen);
    range.high += n_spare_bits;
    return range;
  };
  std::size_t n_words = std::max<std::size_t>(n_words_, 2);
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const auto n_bits = static_cast<std::size_t>(needed(s).high - needed(s).low);
    n_words = std::max(n_words, (n_bits + word_bits - 1) / word_bits);
  }
  if (n_stored() * n_sums_ > most_bytes / sizeof(Word) / n_words) {
    throw Error{"exact sums: " + counted(n_stored(), "cell") + " with " + std::to_string(n_words) +
                " words per sum do not fit into memory"};
  }
  Words wider(words_.empty() ? 0 : n_stored() * n_sums_ * n_words);
  const auto words = wider.unshared();
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const auto [low, high] = needed(s);
    const int n_unused = static_cast<int>(n_words) * word_bits - (high - low);
    const int base = low - n_unused / 2;
    for (std::size_t place = 0; !words.empty() && place < n_stored(); ++place) {
      const auto old = number(place, s);
      if (has_content(old)) {
        shift_number(old, windows_[s].base - base,
                     words.subspan((place * n_sums_ + s) * n_words, n_words));
      }
    }
    windows_[s].base = base;
  }
  words_ = std::move(wider);
  n_words_ = n_words;
}

void ExactSums::make_dense() {
  if (n_cells_ * n_sums_ > most_bytes / sizeof(Word) / n_words_) {
    throw Error{"exact sums: " + counted(n_cells_, "cell does not fit", "cells do not fit") +
                " into memory"};
  }
  Words words(n_cells_ * stride());
  for (std::size_t place = 0; place < cells_.size(); ++place) {
    std::ranges::copy(words_.values().subspan(place * stride(), stride()),
                      &words.unshared()[cells_[place] * stride()]);
  }
  words_ = std::move(words);
  cells_.clear();
  is_dense_ = true;
}

void ExactSums::merge(const ExactSums& other, std::size_t first) {
  if (empty() && !is_dense_ && other.n_cells_ == n_cells_) {
    *this = other;
    return;
  }
  if (other.n_adds_ != 0) {
    Ranges ranges{};
    std::ranges::transform(other.windows_, ranges.begin(), &Window::seen);
    make_room(ranges, other.n_adds_);
    merge_cells(other, first);
  }
  merge_counts(other, first);
  merge_not_finite(other, first);
}

void ExactSums::merge_cells(const ExactSums& other, std::size_t first) {
  if (n_words_ == 2 && other.n_words_ == 2 && other.is_dense_) {
    return merge_pairs(other, first);
  }
  const auto words = words_.unshared();
  Number shifted;
  const std::span<Word> added = std::span{shifted}.first(n_words_);
  for (std::size_t place = 0; place < other.n_stored(); ++place) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      const auto number = other.number(place, s);
      if (has_content(number)) {
        const int shift = other.windows_[s].base - windows_[s].base;
        Word* const to = &words[(first + other.cell_at(place)) * stride() + s * n_words_];
        shift_number(number, shift, added);
        add_number(to, added);
      }
    }
  }
}

/// The same for dense tables of two words.
void ExactSums::merge_pairs(const ExactSums& other, std::size_t first) {
  const Word* const from = other.words_.values().data();
  Word* const to = words_.unshared().data() + first * stride();
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const int shift = other.windows_[s].base - windows_[s].base;
    const bool has_any = std::abs(shift) < 2 * word_bits;  // else the content would not fit
    for (std::size_t k = 2 * s; has_any && k < other.words_.size(); k += stride()) {
      add_two_words(to + k, from + k, shift);
    }
  }
}

void ExactSums::merge_not_finite(const ExactSums& other, std::size_t first) {
  n_not_finite_ += other.n_not_finite_;
  for (const auto& [sum, kinds] : other.not_finite_) {
    not_finite_[first * n_sums_ + sum] |= kinds;
  }
}

std::vector<std::size_t> ExactSums::places_with_content() const {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; !words_.empty() && place < n_stored(); ++place) {
    if (has_content(words_.values().subspan(place * stride(), stride()))) {
      places.push_back(place);
    }
  }
  return places;
}

void ExactSums::clear() { *this = ExactSums{n_sums_, n_cells_}; }

void ExactSums::clear_cell(std::size_t cell) {
  if (!words_.empty()) {
    if (!is_dense_) {
      make_dense();
    }
    std::ranges::fill(words_.writable().subspan(cell * stride(), stride()), Word{0});
  }
  if (!counts_.empty()) {
    counts_.writable()[cell] = 0;
  }
  for (std::size_t s = 0; s < n_sums_; ++s) {
    not_finite_.erase(std::uint64_t{cell} * n_sums_ + s);
  }
}

void ExactSums::move_cells(std::span<const std::uint32_t> places, std::size_t n_cells) {
  add_counts();
  if (n_cells < n_cells_ && n_adds_ != 0) {  // some may be added
    Ranges ranges{};
    std::ranges::transform(windows_, ranges.begin(), &Window::seen);
    make_room(ranges, n_adds_ * places_with_content().size());
  }
  ExactSums moved{n_sums_, n_cells};
  std::vector<std::pair<std::uint32_t, std::size_t>> order;  // new cell, place of its words
  for (const std::size_t place : places_with_content()) {
    order.emplace_back(places[cell_at(place)], place);
  }
  std::ranges::sort(order);
  for (const auto& [cell, place] : order) {
    if (moved.cells_.empty() || moved.cells_.back() != cell) {
      moved.cells_.push_back(cell);
    }
  }
  Words words(moved.cells_.size() * stride());
  const auto sums = words.unshared();
  for (std::size_t k = 0; const auto& [cell, place] : order) {
    k += moved.cells_[k] == cell ? 0 : 1;
    for (std::size_t s = 0; s < n_sums_; ++s) {
      add_number(&sums[k * stride() + s * n_words_], number(place, s));
    }
  }
  for (const auto& [sum, kinds] : not_finite_) {
    moved.not_finite_[places[sum / n_sums_] * n_sums_ + sum % n_sums_] |= kinds;
  }
  cells_ = std::move(moved.cells_);
  not_finite_ = std::move(moved.not_finite_);
  words_ = std::move(words);
  n_cells_ = n_cells;
  is_dense_ = false;
}

double ExactSums::value_of(std::uint8_t not_finite) {
  switch (not_finite) {
    case plus_infinite: return std::numeric_limits<double>::infinity();
    case minus_infinite: return -std::numeric_limits<double>::infinity();
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

double ExactSums::rounded(std::size_t place, std::size_t sum) const {
  return round_number(number(place, sum), windows_[sum].base);
}

std::vector<double> ExactSums::rounded() const {
  if (n_counted_ != 0) {
    return with_counts_added().rounded();
  }
  std::vector<double> result(n_sums_ * n_cells_);
  for (std::size_t place = 0; !words_.empty() && place < n_stored(); ++place) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      result[s * n_cells_ + cell_at(place)] = rounded(place, s);
    }
  }
  for (const auto& [sum, kinds] : not_finite_) {
    result[sum % n_sums_ * n_cells_ + sum / n_sums_] = value_of(kinds);
  }
  return result;
}

}  // namespace forkrun
