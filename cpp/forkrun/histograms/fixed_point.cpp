#include <forkrun/histograms/fixed_point.hpp>

#include <bit>
#include <cmath>

namespace forkrun::fixed_point {

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

namespace {

double times_power(double value, int exponent) {
  if (exponent > -1022 && exponent < 1023) {
    return value * std::bit_cast<double>(static_cast<Word>(exponent + 1023) << fraction_bits);
  }
  return std::ldexp(value, exponent);
}

/// The 64 bits from the highest one on; the lowest is also set if any below are.
Word leading_bits(std::span<const Word> magnitude) {
  const Word highest = magnitude.back();
  const int n_zeros = std::countl_zero(highest);
  if (magnitude.size() == 1) {
    return highest << n_zeros;
  }
  const Word below = magnitude[magnitude.size() - 2];
  const Word leading = highest << n_zeros | (n_zeros == 0 ? 0 : below >> (word_bits - n_zeros));
  const bool is_inexact =
      (below << n_zeros) != 0 || has_content(magnitude.first(magnitude.size() - 2));
  return leading | (is_inexact ? 1 : 0);
}

}  // namespace

// Denormal results are exact: all numbers are multiples of the least one.
double round_number(std::span<const Word> number, int base) {
  Number magnitude;
  const bool is_negative = take_magnitude(number, magnitude);
  std::size_t n_used = number.size();
  while (n_used > 0 && magnitude[n_used - 1] == 0) {
    --n_used;
  }
  if (n_used == 0) {
    return 0;
  }
  const int exponent =
      base + static_cast<int>(n_used - 1) * word_bits - std::countl_zero(magnitude[n_used - 1]);
  const Word leading = leading_bits(std::span{magnitude}.first(n_used));
  const double result = times_power(static_cast<double>(leading), exponent);
  return is_negative ? -result : result;
}

}  // namespace forkrun::fixed_point
