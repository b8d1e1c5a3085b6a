#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

/// Integers in two's complement, of several words, the lowest first; times a power of two, they
/// hold sums of doubles. The exponent of the lowest bit of the lowest word is their base.
namespace forkrun::fixed_point {

using Word = std::uint64_t;
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr int word_bits = 64;
constexpr std::size_t most_words = 40;
using Number = std::array<Word, most_words>;

constexpr int fraction_bits = 52;
constexpr Word fraction_mask = (Word{1} << fraction_bits) - 1;
constexpr Word magnitude_mask = ~Word{0} >> 1;
constexpr int exponent_mask = 0x7ff;
/// Exponent of the lowest bit of a number with exponent field 0.
constexpr int field_offset = -1075;

struct Parts {
  std::int64_t mantissa;
  int exponent;  ///< of the lowest bit of the mantissa
};

/// \pre the value is finite
inline Parts parts_of(double value) {
  const Word bits = std::bit_cast<Word>(value);
  const int field = static_cast<int>(bits >> fraction_bits) & exponent_mask;
  const Word normal = field != 0 ? 1 : 0;
  const auto magnitude =
      static_cast<std::int64_t>((bits & fraction_mask) | (normal << fraction_bits));
  const auto sign = static_cast<std::int64_t>(bits) >> 63;
  return {(magnitude ^ sign) - sign, field + static_cast<int>(1 - normal) + field_offset};
}

/// \pre the value is finite and fits into the window: its bits below are 0
inline void add_value(Word* words, double value, int base, std::size_t n_words) {
  auto [mantissa, exponent] = parts_of(value);
  if (mantissa == 0) {
    return;
  }
  if (exponent < base) {
    mantissa >>= base - exponent;
    exponent = base;
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

/// Whether any word is not 0.
[[nodiscard]] inline bool has_content(std::span<const Word> words) {
  return std::ranges::any_of(words, [](Word word) { return word != 0; });
}

/// Room for carries above the greatest value: sums of 2^40 values fit; it grows with more values.
constexpr int fewest_spare_bits = 40;
inline int spare_bits(std::uint64_t n_adds) {
  return 1 + std::max(fewest_spare_bits, static_cast<int>(std::bit_width(n_adds)));
}

/// Writes `number` times 2^shift, with as many words as `result` has.
void shift_number(std::span<const Word> number, int shift, std::span<Word> result);

/// Adds in place. \pre `words` are as many as `added`
void add_number(Word* words, std::span<const Word> added);

/// Writes the magnitude of a number; \returns whether it is negative
inline bool take_magnitude(std::span<const Word> number, Number& magnitude) {
  const bool is_negative = (number.back() >> 63) != 0;
  Word carry = is_negative ? 1 : 0;
  for (std::size_t k = 0; k < number.size(); ++k) {
    magnitude[k] = (is_negative ? ~number[k] : number[k]) + carry;
    carry = carry != 0 && magnitude[k] == 0 ? 1 : 0;
  }
  return is_negative;
}

/// A number as a double: to nearest, ties to even.
[[nodiscard]] double round_number(std::span<const Word> number, int base);

}  // namespace forkrun::fixed_point
