#include <forkrun/histograms/split_values.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>

namespace forkrun::fixed_point {

namespace {

/// Exponent of the power of two that brings the highest piece of a value before the point.
int scale_of(int base, std::size_t n_words) {
  return -base - piece_bits * static_cast<int>(n_words - 1);
}

constexpr Word magic_bits = std::bit_cast<Word>(magic);
constexpr Word piece_size = Word{1} << piece_bits;

/// Subtracts the nearest integer, exactly, and brings the next piece before the point.
[[gnu::always_inline]] inline Word take_piece(double& value) {
  const double with_magic = value + magic;
  value = (value - (with_magic - magic)) * static_cast<double>(piece_size);
  return std::bit_cast<Word>(with_magic) - magic_bits;
}

/// A piece without a sign: its borrow is in `next`.
[[gnu::always_inline]] inline Word without_sign(Word piece, Word& next) {
  const Word moved = piece + piece_size;
  next += (moved >> piece_bits) - 1;
  return moved & (piece_size - 1);
}

/// Makes the words of values, in pieces of 51 bits. No branch or shift depends on a value, and all
/// stays in lanes of 64 bits: so it becomes vector instructions. \pre the values are finite and fit
/// into the window with its spare bits
template <std::size_t N_WORDS>
[[gnu::always_inline]] inline void split_inline(const double* values, std::size_t n, double scale,
                                                WordColumns& words) {
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
                                             WordColumns& words) {
  split_inline<N_WORDS>(values, n, scale, words);
}
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
#endif

}  // namespace

bool can_split(int base, std::size_t n_words) {
  return (n_words == 2 || n_words == 3) && std::abs(scale_of(base, n_words)) < 1000;
}

template <std::size_t N_WORDS>
void split_values(const double* values, std::size_t n, int base, WordColumns& words) {
  const double scale = std::ldexp(1, scale_of(base, N_WORDS));
#if defined(__x86_64__) && defined(__GNUC__)
  if (has_avx2) {
    return split_with_avx2<N_WORDS>(values, n, scale, words);
  }
#endif
  split_inline<N_WORDS>(values, n, scale, words);
}

template void split_values<2>(const double*, std::size_t, int, WordColumns&);
template void split_values<3>(const double*, std::size_t, int, WordColumns&);

}  // namespace forkrun::fixed_point
