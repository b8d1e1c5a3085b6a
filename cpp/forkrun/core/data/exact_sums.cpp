#include <forkrun/core/data/exact_sums.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

using Word = std::uint64_t;
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr int word_bits = 64;
constexpr int piece_bits = 51;
/// Room for carries above the greatest value: sums of 2^40 values fit; more when more are added.
constexpr int fewest_spare_bits = 40;
/// From the least denormal number to sums of the largest ones, and room to place the window.
constexpr int least_low = -1074;
constexpr int greatest_high = 1024 + 2 * word_bits;
constexpr std::size_t most_words = 40;
constexpr std::size_t most_bytes = 16'000'000'000;
constexpr std::size_t cached_bytes = 256 * 1024;
constexpr std::size_t prefetch_distance = 16;

constexpr int fraction_bits = 52;
constexpr Word fraction_mask = (Word{1} << fraction_bits) - 1;
constexpr Word magnitude_mask = ~Word{0} >> 1;
constexpr int exponent_mask = 0x7ff;
/// Exponent of the lowest bit of a number with exponent field 0.
constexpr int field_offset = -1075;

enum NotFinite : std::uint8_t { plus_infinite = 1, minus_infinite = 2, not_a_number = 4 };

struct Parts {
  std::int64_t mantissa;
  int exponent;  ///< of the lowest bit of the mantissa
};

inline Parts parts_of(double value) {
  const Word bits = std::bit_cast<Word>(value);
  const int field = static_cast<int>(bits >> fraction_bits) & exponent_mask;
  const Word normal = field != 0 ? 1 : 0;
  const auto magnitude =
      static_cast<std::int64_t>((bits & fraction_mask) | (normal << fraction_bits));
  const auto sign = static_cast<std::int64_t>(bits) >> 63;
  return {(magnitude ^ sign) - sign, field + static_cast<int>(1 - normal) + field_offset};
}

/// Values that are added together, in the first-level cache.
constexpr std::size_t n_at_a_time = 256;
template <typename T>
using Buffer = std::array<T, n_at_a_time>;

/// Exponent of the power of two by which values are multiplied to have their highest piece before
/// the point.
int scale_of(int base, std::size_t n_words) {
  return -base - piece_bits * static_cast<int>(n_words - 1);
}

/// Whether `split` can take the values of a window.
bool can_split(int base, std::size_t n_words) {
  return (n_words == 2 || n_words == 3) && std::abs(scale_of(base, n_words)) < 1000;
}

/// Adding it leaves an integer in the lowest bits of a double: of values up to 2^51.
constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
constexpr Word magic_bits = std::bit_cast<Word>(magic);
constexpr Word piece_size = Word{1} << piece_bits;
constexpr Word bias = Word{1} << 50;  // above all highest pieces, so that they can be shifted

/// Takes the nearest integer off, exactly, and has the next piece before the point.
[[gnu::always_inline]] inline Word take_piece(double& value) {
  const double with_magic = value + magic;
  value = (value - (with_magic - magic)) * static_cast<double>(piece_size);
  return std::bit_cast<Word>(with_magic) - magic_bits;
}

/// A piece without a sign: what it borrows is in `next`.
[[gnu::always_inline]] inline Word without_sign(Word piece, Word& next) {
  const Word moved = piece + piece_size;
  next += (moved >> piece_bits) - 1;
  return moved & (piece_size - 1);
}

/// Makes the words of values, in pieces of 51 bits. It never branches or shifts by what depends on
/// a value, and stays in lanes of 64 bits: so it becomes vector instructions.
/// \pre the values are finite and fit into the window with its spare bits
template <std::size_t N_WORDS>
[[gnu::always_inline]] inline void split_inline(const double* values, std::size_t n, double scale,
                                                std::array<Buffer<Word>, 3>& words) {
  for (std::size_t i = 0; i < n; ++i) {
    double rest = values[i] * scale;
    if constexpr (N_WORDS == 2) {
      Word high = take_piece(rest);
      const Word low = without_sign(take_piece(rest), high);
      words[0][i] = low | (high << piece_bits);
      words[1][i] =
          ((high + bias) >> (word_bits - piece_bits)) - (bias >> (word_bits - piece_bits));
    } else {
      constexpr int n_used = 2 * piece_bits - word_bits;  // bits of the middle word
      Word high = take_piece(rest);
      Word middle = take_piece(rest);
      const Word low = without_sign(take_piece(rest), middle);
      middle = without_sign(middle, high);
      words[0][i] = low | (middle << piece_bits);
      words[1][i] = (middle >> (word_bits - piece_bits)) | (high << n_used);
      words[2][i] = ((high + bias) >> (word_bits - n_used)) - (bias >> (word_bits - n_used));
    }
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
template <std::size_t N_WORDS>
[[gnu::target("avx2")]] void split_with_avx2(const double* values, std::size_t n, double scale,
                                             std::array<Buffer<Word>, 3>& words) {
  split_inline<N_WORDS>(values, n, scale, words);
}
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
#endif

template <std::size_t N_WORDS>
void split(const double* values, std::size_t n, double scale, std::array<Buffer<Word>, 3>& words) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (has_avx2) {
    return split_with_avx2<N_WORDS>(values, n, scale, words);
  }
#endif
  split_inline<N_WORDS>(values, n, scale, words);
}

template <std::size_t N_WORDS>
inline void add_words(Word* number, const std::array<Buffer<Word>, 3>& words, std::size_t i) {
  Word sum = 0;
  const Word carry = __builtin_add_overflow(number[0], words[0][i], &sum) ? 1 : 0;
  number[0] = sum;
  if constexpr (N_WORDS == 2) {
    number[1] += words[1][i] + carry;
  } else {
    Word added = 0;
    Word next = __builtin_add_overflow(words[1][i], carry, &added) ? 1 : 0;
    next += __builtin_add_overflow(number[1], added, &sum) ? 1 : 0;
    number[1] = sum;
    number[2] += words[2][i] + next;
  }
}

/// \pre the value is finite and fits into the window
inline void add_value(Word* words, double value, int base, std::size_t n_words) {
  const auto [mantissa, exponent] = parts_of(value);
  if (mantissa == 0) {
    return;
  }
  const auto shift = static_cast<unsigned>(exponent - base);
  const auto added = static_cast<UnsignedWide>(static_cast<Wide>(mantissa)) << (shift % word_bits);
  std::size_t k = shift / word_bits;
  UnsignedWide carry = static_cast<UnsignedWide>(words[k]) + static_cast<Word>(added);
  words[k] = static_cast<Word>(carry);
  Word next = static_cast<Word>(added >> word_bits);
  const Word sign = mantissa < 0 ? ~Word{0} : 0;
  while (++k < n_words) {
    carry = static_cast<UnsignedWide>(words[k]) + next + static_cast<Word>(carry >> word_bits);
    words[k] = static_cast<Word>(carry);
    next = sign;
  }
}

/// Upper half of the least magnitude above 0; more than any if all are 0.
std::int32_t least_upper_half(std::span<const double> values) {
  Word least = ~Word{0} - 1;
  for (const double value : values) {
    const Word magnitude = std::bit_cast<Word>(value) & magnitude_mask;
    least = std::min(least, magnitude - 1);  // 0 becomes the greatest
  }
  return static_cast<std::int32_t>(std::min((least + 1) >> 32, Word{0x7fffffff}));
}

std::uint8_t kind_of(double value) {
  if (std::isnan(value)) {
    return not_a_number;
  }
  return value > 0 ? plus_infinite : minus_infinite;
}

double value_of(std::uint8_t not_finite) {
  switch (not_finite) {
    case plus_infinite: return std::numeric_limits<double>::infinity();
    case minus_infinite: return -std::numeric_limits<double>::infinity();
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

using Number = std::array<Word, most_words>;

/// Writes `number` times 2^shift, with as many words as `result` has.
void shift_number(std::span<const Word> number, int shift, std::span<Word> result) {
  const Word sign = static_cast<Word>(static_cast<std::int64_t>(number.back()) >> 63);
  const auto word = [&](std::int64_t k) {
    if (k < 0) {
      return Word{0};
    }
    return k < std::ssize(number) ? number[static_cast<std::size_t>(k)] : sign;
  };
  const int n_bits = ((shift % word_bits) + word_bits) % word_bits;
  const std::int64_t n_up = (shift - n_bits) / word_bits;
  for (std::int64_t k = 0; k < std::ssize(result); ++k) {
    const Word low = n_bits == 0 ? 0 : word(k - n_up - 1) >> (word_bits - n_bits);
    result[static_cast<std::size_t>(k)] = (word(k - n_up) << n_bits) | low;
  }
}

void add_number(Word* words, std::span<const Word> added) {
  Word carry = 0;
  for (std::size_t k = 0; k < added.size(); ++k) {
    const UnsignedWide sum = static_cast<UnsignedWide>(words[k]) + added[k] + carry;
    words[k] = static_cast<Word>(sum);
    carry = static_cast<Word>(sum >> word_bits);
  }
}

/// Magnitude of a number, and whether it is negative.
bool take_magnitude(std::span<const Word> number, Number& magnitude) {
  const bool is_negative = (number.back() >> 63) != 0;
  Word carry = is_negative ? 1 : 0;
  for (std::size_t k = 0; k < number.size(); ++k) {
    magnitude[k] = (is_negative ? ~number[k] : number[k]) + carry;
    carry = carry != 0 && magnitude[k] == 0 ? 1 : 0;
  }
  return is_negative;
}

double times_power(double value, int exponent) {
  if (exponent > -1022 && exponent < 1023) {
    return value * std::bit_cast<double>(static_cast<Word>(exponent + 1023) << fraction_bits);
  }
  return std::ldexp(value, exponent);
}

/// A number as a double. What becomes a denormal number is exact: all are multiples of the least.
double round_number(std::span<const Word> number, int base) {
  Number magnitude;
  const bool is_negative = take_magnitude(number, magnitude);
  std::size_t top = number.size();
  while (top > 0 && magnitude[top - 1] == 0) {
    --top;
  }
  if (top == 0) {
    return 0;
  }
  --top;
  const int n_zeros = std::countl_zero(magnitude[top]);
  Word leading = magnitude[top] << n_zeros;
  bool is_inexact = false;  // bits below the leading 64
  if (top > 0) {
    const Word below = magnitude[top - 1];
    leading |= n_zeros == 0 ? 0 : below >> (word_bits - n_zeros);
    is_inexact = (below << n_zeros) != 0;
    is_inexact |=
        std::ranges::any_of(std::span{magnitude}.first(top - 1), [](Word w) { return w != 0; });
  }
  leading |= is_inexact ? 1 : 0;
  const int exponent = base + static_cast<int>(top) * word_bits - n_zeros;
  const double result = times_power(static_cast<double>(leading), exponent);
  return is_negative ? -result : result;
}

bool has_content(std::span<const Word> words) {
  return std::ranges::any_of(words, [](Word word) { return word != 0; });
}

int spare_bits(std::uint64_t n_adds) {
  return 1 + std::max(fewest_spare_bits, static_cast<int>(std::bit_width(n_adds)));
}

}  // namespace

ExactSums::ExactSums(std::size_t n_sums, std::size_t n_cells)
    : n_sums_{n_sums}, n_cells_{n_cells}, windows_(n_sums) {
  if (n_sums == 0 || n_sums > 8 || n_cells > std::numeric_limits<std::uint32_t>::max()) {
    throw Error{"exact sums: " + std::to_string(n_sums) + " sums of " + std::to_string(n_cells) +
                " cells are too many"};
  }
}

ExactSums::Range ExactSums::Range::joined(Range other) const {
  if (empty() || other.empty()) {
    return empty() ? other : *this;
  }
  return {std::min(low, other.low), std::max(high, other.high)};
}

bool ExactSums::find_range(std::span<const double> values, Range& range) {
  std::int32_t greatest = 0;  // of the upper halves: so it becomes vector instructions
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const double value : values) {
    const auto upper = static_cast<std::int32_t>(std::bit_cast<Word>(value) >> 32 & 0x7fffffff);
    greatest = std::max(greatest, upper);
    least = std::min(least, upper);
  }
  const auto field = [](std::int32_t upper) { return upper >> (fraction_bits - 32); };
  if (field(least) == 0) {
    least = least_upper_half(values);
  }
  range = {};
  if (least <= greatest) {
    range = {std::max(1, field(least)) + field_offset,
             std::max(1, field(greatest)) + field_offset + fraction_bits + 1};
  }
  return field(greatest) != exponent_mask;
}

bool ExactSums::fits(std::span<const Range> ranges, int n_spare_bits) const {
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

/// After this, values in the ranges can be added without a check.
void ExactSums::make_room(std::span<const Range> ranges, std::uint64_t n_adds) {
  n_adds_ += n_adds;
  const int n_spare_bits = spare_bits(n_adds_);
  if (!fits(ranges, n_spare_bits)) {
    widen(ranges, n_spare_bits);
  }
  for (std::size_t s = 0; s < n_sums_; ++s) {
    windows_[s].seen = windows_[s].seen.joined(ranges[s]);
  }
  if (!is_dense_) {
    make_dense();
  }
}

void ExactSums::widen(std::span<const Range> ranges, int n_spare_bits) {
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
    throw Error{"exact sums: " + std::to_string(n_stored()) + " cells with " +
                std::to_string(n_words) + " words per sum do not fit into memory"};
  }
  Words words(words_.empty() ? 0 : n_stored() * n_sums_ * n_words);
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const auto [low, high] = needed(s);
    const int n_unused = static_cast<int>(n_words) * word_bits - (high - low);
    const int base = low - n_unused / 2;
    for (std::size_t place = 0; !words.empty() && place < n_stored(); ++place) {
      const std::span<const Word> old{&words_[place * stride() + s * n_words_], n_words_};
      if (has_content(old)) {
        shift_number(old, windows_[s].base - base,
                     {&words[(place * n_sums_ + s) * n_words], n_words});
      }
    }
    windows_[s].base = base;
  }
  words_ = std::move(words);
  n_words_ = n_words;
}

void ExactSums::make_dense() {
  if (n_cells_ * n_sums_ > most_bytes / sizeof(Word) / n_words_) {
    throw Error{"exact sums: " + std::to_string(n_cells_) + " cells do not fit into memory"};
  }
  Words words(n_cells_ * stride());
  for (std::size_t place = 0; place < cells_.size(); ++place) {
    std::copy_n(&words_[place * stride()], stride(), &words[cells_[place] * stride()]);
  }
  words_ = std::move(words);
  cells_.clear();
  is_dense_ = true;
}

void ExactSums::add(std::size_t cell, std::span<const double> values) {
  if (is_dense_ && n_words_ == 2 && add_if_fits(cell, values)) {
    return;
  }
  const auto number = static_cast<std::uint32_t>(cell);
  std::array<const double*, 8> columns{};
  for (std::size_t s = 0; s < n_sums_; ++s) {
    columns[s] = &values[s];
  }
  add({&number, 1}, {columns.data(), n_sums_});
}

bool ExactSums::add_if_fits(std::size_t cell, std::span<const double> values) {
  if (n_adds_ >> fewest_spare_bits != 0) {
    return false;
  }
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const Word magnitude = std::bit_cast<Word>(values[s]) & magnitude_mask;
    const int low = std::max(1, static_cast<int>(magnitude >> fraction_bits)) + field_offset;
    const int high = low + fraction_bits + 1;
    auto& [base, seen] = windows_[s];
    if (magnitude == 0) {
      continue;
    }
    if (low < base || high + spare_bits(0) > base + 2 * word_bits) {
      return false;
    }
    seen = seen.joined({low, high});
  }
  ++n_adds_;
  for (std::size_t s = 0; s < n_sums_; ++s) {
    add_value(&words_[(cell * n_sums_ + s) * 2], values[s], windows_[s].base, 2);
  }
  return true;
}

void ExactSums::add(std::span<const std::uint32_t> cells, std::span<const double* const> columns) {
  std::array<Range, 8> ranges{};
  bool are_finite = true;
  for (std::size_t s = 0; s < n_sums_; ++s) {
    are_finite &= find_range({columns[s], cells.size()}, ranges[s]);
  }
  if (!are_finite) {
    add_each(cells, columns);
    return;
  }
  make_room(std::span{ranges}.first(n_sums_), cells.size());
  const auto add_with = [&]<std::size_t N_WORDS>(auto some, auto values) {
    switch (n_sums_) {
      case 1: return add_split<1, N_WORDS>(some, values);
      case 2: return add_split<2, N_WORDS>(some, values);
      default: return add_split<0, N_WORDS>(some, values);
    }
  };
  const bool can_split_all = std::ranges::all_of(
      windows_, [&](const Window& window) { return can_split(window.base, n_words_); });
  for (std::size_t first = 0; first < cells.size(); first += n_at_a_time) {
    const std::size_t n = std::min(n_at_a_time, cells.size() - first);
    std::array<const double*, 8> values{};
    std::ranges::transform(columns, values.begin(), [&](auto column) { return column + first; });
    if (can_split_all && n_words_ == 2) {
      add_with.template operator()<2>(cells.subspan(first, n), values.data());
    } else if (can_split_all) {
      add_with.template operator()<3>(cells.subspan(first, n), values.data());
    } else {
      add_wide(cells.subspan(first, n), values.data());
    }
  }
}

template <std::size_t N_SUMS, std::size_t N_WORDS>
void ExactSums::add_split(std::span<const std::uint32_t> cells, const double* const* columns) {
  const std::size_t n_sums = N_SUMS == 0 ? n_sums_ : N_SUMS;
  std::array<std::array<Buffer<Word>, 3>, N_SUMS == 0 ? 8 : N_SUMS> added;
  const std::size_t n = cells.size();
  for (std::size_t s = 0; s < n_sums; ++s) {
    split<N_WORDS>(columns[s], n, std::ldexp(1, scale_of(windows_[s].base, N_WORDS)), added[s]);
  }
  Word* const words = words_.data();
  const bool prefetches = words_.size() * sizeof(Word) > cached_bytes;
  for (std::size_t i = 0; i < n; ++i) {
    if (prefetches) {
      const std::size_t later = std::min(i + prefetch_distance, n - 1);
      __builtin_prefetch(words + cells[later] * n_sums * N_WORDS, 1);
    }
    Word* const numbers = words + cells[i] * n_sums * N_WORDS;
    for (std::size_t s = 0; s < n_sums; ++s) {
      add_words<N_WORDS>(numbers + s * N_WORDS, added[s], i);
    }
  }
}

void ExactSums::add_wide(std::span<const std::uint32_t> cells, const double* const* columns) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      add_value(&words_[cells[i] * stride() + s * n_words_], columns[s][i], windows_[s].base,
                n_words_);
    }
  }
}

/// Adds one entry after the other, some of whose values are not finite.
void ExactSums::add_each(std::span<const std::uint32_t> cells,
                         std::span<const double* const> columns) {
  std::array<double, 8> finite{};
  std::array<const double*, 8> places{};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      const double value = columns[s][i];
      places[s] = &finite[s];
      finite[s] = std::isfinite(value) ? value : 0;
      if (!std::isfinite(value)) {
        not_finite_[std::uint64_t{cells[i]} * n_sums_ + s] |= kind_of(value);
        ++n_not_finite_;
      }
    }
    add(cells.subspan(i, 1), {places.data(), n_sums_});
  }
}

void ExactSums::merge(const ExactSums& other) {
  merge_not_finite(other);
  if (other.n_adds_ == 0) {
    return;
  }
  std::array<Range, 8> ranges{};
  for (std::size_t s = 0; s < n_sums_; ++s) {
    ranges[s] = other.windows_[s].seen;
  }
  if (n_adds_ == 0 && !is_dense_) {
    is_dense_ = other.is_dense_;
    cells_ = other.cells_;
    words_ = other.words_;
    windows_ = other.windows_;
    n_words_ = other.n_words_;
    n_adds_ = other.n_adds_;
    return;
  }
  make_room(std::span{ranges}.first(n_sums_), other.n_adds_);
  merge_cells(other);
}

void ExactSums::merge_cells(const ExactSums& other) {
  Number shifted;
  const std::span<Word> added = std::span{shifted}.first(n_words_);
  for (std::size_t place = 0; place < other.n_stored(); ++place) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      const std::span<const Word> number{&other.words_[place * other.stride() + s * other.n_words_],
                                         other.n_words_};
      if (has_content(number)) {
        shift_number(number, other.windows_[s].base - windows_[s].base, added);
        add_number(&words_[other.cell_at(place) * stride() + s * n_words_], added);
      }
    }
  }
}

void ExactSums::merge_not_finite(const ExactSums& other) {
  n_not_finite_ += other.n_not_finite_;
  for (const auto& [sum, kinds] : other.not_finite_) {
    not_finite_[sum] |= kinds;
  }
}

void ExactSums::clear() { *this = ExactSums{n_sums_, n_cells_}; }

void ExactSums::clear_cell(std::size_t cell) {
  if (!words_.empty()) {
    if (!is_dense_) {
      make_dense();
    }
    std::fill_n(&words_[cell * stride()], stride(), Word{0});
  }
  for (std::size_t s = 0; s < n_sums_; ++s) {
    not_finite_.erase(std::uint64_t{cell} * n_sums_ + s);
  }
}

void ExactSums::move_cells(std::span<const std::uint32_t> places, std::size_t n_cells) {
  ExactSums moved{n_sums_, n_cells};
  std::vector<std::pair<std::uint32_t, std::size_t>> order;  // new cell, place of its words
  for (std::size_t place = 0; !words_.empty() && place < n_stored(); ++place) {
    if (has_content({&words_[place * stride()], stride()})) {
      order.emplace_back(places[cell_at(place)], place);
    }
  }
  std::ranges::sort(order);
  Words words(order.size() * stride());
  for (std::size_t k = 0; k < order.size(); ++k) {
    moved.cells_.push_back(order[k].first);
    std::copy_n(&words_[order[k].second * stride()], stride(), &words[k * stride()]);
  }
  for (const auto& [sum, kinds] : not_finite_) {
    moved.not_finite_[places[sum / n_sums_] * n_sums_ + sum % n_sums_] = kinds;
  }
  cells_ = std::move(moved.cells_);
  not_finite_ = std::move(moved.not_finite_);
  words_ = std::move(words);
  n_cells_ = n_cells;
  is_dense_ = false;
}

double ExactSums::rounded(std::size_t place, std::size_t sum) const {
  return round_number({&words_[place * stride() + sum * n_words_], n_words_}, windows_[sum].base);
}

std::vector<double> ExactSums::rounded() const {
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

ExactSums::Range ExactSums::content(std::size_t sum) const {
  Number any{};
  Number magnitude;
  for (std::size_t place = 0; !words_.empty() && place < n_stored(); ++place) {
    take_magnitude({&words_[place * stride() + sum * n_words_], n_words_}, magnitude);
    for (std::size_t k = 0; k < n_words_; ++k) {
      any[k] |= magnitude[k];
    }
  }
  const std::span<const Word> words = std::span{any}.first(n_words_);
  const auto is_set = [](Word word) { return word != 0; };
  const auto first = std::ranges::find_if(words, is_set);
  if (first == words.end()) {
    return {};
  }
  const auto last = std::ranges::find_if(words.rbegin(), words.rend(), is_set);
  const auto bits = [](auto n_words) { return static_cast<int>(n_words) * word_bits; };
  return {windows_[sum].base + bits(first - words.begin()) + std::countr_zero(*first),
          windows_[sum].base + bits(words.rend() - last) - std::countl_zero(*last)};
}

// What `packed` gives, in words: n_cells, n_words, number of cells that follow, whether these are
// named, number of sums that are not finite, number of values that are not; base exponent of each
// sum; the cells, unless all are there; their sums, each with n_words; and of each sum that is not
// finite its number and what it has had.
std::vector<std::uint64_t> ExactSums::packed() const {
  std::size_t n_words = 1;
  std::vector<int> bases;
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const Range range = content(s);
    bases.push_back(range.low);
    const auto n_bits = static_cast<std::size_t>(range.high - range.low + 1);  // one for the sign
    n_words = std::max(n_words, (n_bits + word_bits - 1) / word_bits);
  }
  std::vector<std::size_t> places;
  for (std::size_t place = 0; !words_.empty() && place < n_stored(); ++place) {
    if (has_content({&words_[place * stride()], stride()})) {
      places.push_back(place);
    }
  }
  const bool names_cells = places.size() * (1 + n_sums_ * n_words) < n_cells_ * n_sums_ * n_words;
  if (!names_cells && !is_dense_) {
    ExactSums dense{*this};
    dense.make_dense();
    return dense.packed();
  }
  if (!names_cells) {
    places.resize(n_cells_);
    std::iota(places.begin(), places.end(), std::size_t{0});
  }
  std::vector<Word> result{n_cells_,           n_words,      places.size(), names_cells,
                           not_finite_.size(), n_not_finite_};
  result.reserve(6 + n_sums_ + places.size() * (1 + n_sums_ * n_words) + 2 * not_finite_.size());
  for (const int base : bases) {
    result.push_back(static_cast<Word>(std::int64_t{base}));
  }
  for (const std::size_t place : places) {
    if (names_cells) {
      result.push_back(cell_at(place));
    }
  }
  for (const std::size_t place : places) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      result.resize(result.size() + n_words);
      shift_number({&words_[place * stride() + s * n_words_], n_words_},
                   windows_[s].base - bases[s], std::span{result}.last(n_words));
    }
  }
  for (const auto& [sum, kinds] : not_finite_) {
    result.insert(result.end(), {sum, kinds});
  }
  return result;
}

/// Takes words off the front of what `packed` gave, which may be anything.
class ExactSums::Reader {
 public:
  explicit Reader(std::span<const Word> words) : rest_{words} {}

  std::span<const Word> take(std::uint64_t n, std::uint64_t each = 1) {
    if (each != 0 && n > rest_.size() / each) {
      throw Error{"its sums go beyond the end"};
    }
    const auto taken = rest_.first(n * each);
    rest_ = rest_.subspan(n * each);
    return taken;
  }
  std::uint64_t take_number(std::uint64_t most, const char* what) {
    const std::uint64_t number = take(1).front();
    if (number > most) {
      throw Error{std::string{"there are more "} + what + " than there can be"};
    }
    return number;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::span<const Word> rest_;
};

ExactSums ExactSums::unpacked(std::span<const std::uint64_t> packed, std::size_t n_sums,
                              std::size_t n_cells) {
  ExactSums sums{n_sums, n_cells};
  Reader reader{packed};
  if (reader.take(1).front() != n_cells) {
    throw Error{"its sums are of another number of bins"};
  }
  sums.n_words_ = reader.take_number(most_words - 2, "words per sum");
  const auto n_stored = reader.take_number(n_cells, "cells");
  const auto names_cells = reader.take_number(1, "lists of cells") != 0;
  const auto n_not_finite_sums = reader.take_number(n_cells * n_sums, "sums that are not finite");
  sums.n_not_finite_ = reader.take_number(~Word{0} >> 1, "values that are not finite");
  if (sums.n_words_ == 0 || (!names_cells && n_stored != n_cells)) {
    throw Error{"cells or words are missing"};
  }
  for (auto& window : sums.windows_) {
    const auto base = static_cast<std::int64_t>(reader.take(1).front());
    if (base < least_low || base > greatest_high) {
      throw Error{"its sums are too small or too large"};
    }
    window.base = static_cast<int>(base);
  }
  if (names_cells) {
    for (const auto cell : reader.take(n_stored)) {
      if (cell >= n_cells || (!sums.cells_.empty() && cell <= sums.cells_.back())) {
        throw Error{"its cells are not in order"};
      }
      sums.cells_.push_back(static_cast<std::uint32_t>(cell));
    }
  }
  const auto words = reader.take(n_stored, n_sums * sums.n_words_);
  sums.words_.assign(words.begin(), words.end());
  sums.is_dense_ = !names_cells;
  for (std::uint64_t k = 0; k < n_not_finite_sums; ++k) {
    const auto entry = reader.take(2);
    if (entry[0] >= n_cells * n_sums || entry[1] == 0 || entry[1] > 7) {
      throw Error{"a sum that is not finite is none of its sums"};
    }
    sums.not_finite_[entry[0]] = static_cast<std::uint8_t>(entry[1]);
  }
  if (!reader.at_end()) {
    throw Error{"words follow its sums"};
  }
  for (std::size_t s = 0; s < n_sums; ++s) {
    const Range range = sums.content(s);
    if (range.high > greatest_high) {
      throw Error{"its sums are too small or too large"};
    }
    sums.windows_[s].seen = range;
  }
  sums.n_adds_ = n_stored > 0 ? 1 : 0;
  return sums;
}

}  // namespace forkrun
