#pragma once

#include <array>
#include <cstddef>

#include <forkrun/histograms/fixed_point.hpp>

/// Makes the words of many doubles at a time, for sums with numbers of 2 or 3 words.
namespace forkrun::fixed_point {

/// Values added together, in the first-level cache.
constexpr std::size_t n_at_a_time = 256;
template <typename T>
using Buffer = std::array<T, n_at_a_time>;
/// The lowest words of the values, the next, the highest.
using WordColumns = std::array<Buffer<Word>, 3>;

/// Bits of each piece of a value.
constexpr int piece_bits = 51;
/// Adding it leaves an integer in the lowest bits of a double, for values up to 2^51.
constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
/// Above all highest pieces, so that they can be shifted.
constexpr Word bias = Word{1} << 50;

/// `split_values` takes magnitudes below 2^(base + this).
[[nodiscard]] constexpr int bits_split(std::size_t n_words) {
  return piece_bits * static_cast<int>(n_words);
}
/// Whether `split_values` can take the values of a window.
[[nodiscard]] bool can_split(int base, std::size_t n_words);

/// N_WORDS: 2 or 3. \pre the values are finite and fit into the window with at least 41 spare bits;
/// n <= n_at_a_time; `can_split`
template <std::size_t N_WORDS>
void split_values(const double* values, std::size_t n, int base, WordColumns& words);

/// Adds the split value number `i`.
template <std::size_t N_WORDS>
inline void add_words(Word* number, const WordColumns& words, std::size_t i) {
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

}  // namespace forkrun::fixed_point
