#include <forkrun/histograms/pair_sums.hpp>

#include <cmath>

#include <forkrun/histograms/split_values.hpp>
#include <forkrun/histograms/vectorised.hpp>

#if defined(__x86_64__) && defined(__GNUC__)
#define FORKRUN_HAS_AVX2_KERNELS
#include <immintrin.h>
#endif

namespace forkrun::fixed_point {

#ifdef FORKRUN_HAS_AVX2_KERNELS

namespace {

#define FORKRUN_AVX2 [[gnu::target("avx2"), gnu::always_inline]] inline

constexpr long long signed_bias{bias};

/// By which values are multiplied to have their highest piece before the point.
double scale_of(int base) { return std::ldexp(1, -base - piece_bits); }

struct LowAndHigh {
  __m256i low;
  __m256i high;
};

/// The two words of four values; see `split_values`.
FORKRUN_AVX2 LowAndHigh words_of(const double* values, double scale) {
  const __m256d shifter = _mm256_set1_pd(magic);
  const __m256i shifter_bits = _mm256_castpd_si256(shifter);
  const __m256d x = _mm256_mul_pd(_mm256_loadu_pd(values), _mm256_set1_pd(scale));
  const __m256d upper = _mm256_add_pd(x, shifter);
  const __m256d rest = _mm256_mul_pd(_mm256_sub_pd(x, _mm256_sub_pd(upper, shifter)),
                                     _mm256_set1_pd(static_cast<double>(1LL << piece_bits)));
  const __m256i low =
      _mm256_sub_epi64(_mm256_castpd_si256(_mm256_add_pd(rest, shifter)),
                       _mm256_sub_epi64(shifter_bits, _mm256_set1_epi64x(1LL << piece_bits)));
  const __m256i borrowed =
      _mm256_add_epi64(_mm256_srli_epi64(low, piece_bits), _mm256_set1_epi64x(signed_bias - 1));
  const __m256i high =
      _mm256_add_epi64(_mm256_sub_epi64(_mm256_castpd_si256(upper), shifter_bits), borrowed);
  const __m256i mask = _mm256_set1_epi64x((1LL << piece_bits) - 1);
  return {_mm256_or_si256(_mm256_and_si256(low, mask), _mm256_slli_epi64(high, piece_bits)),
          _mm256_sub_epi64(_mm256_srli_epi64(high, word_bits - piece_bits),
                           _mm256_set1_epi64x(signed_bias >> (word_bits - piece_bits)))};
}

/// Adds two numbers of two words. Words compare without a sign: the highest bit is flipped.
FORKRUN_AVX2 void add_two_numbers(Word* words, __m256i added) {
  const __m256i sign = _mm256_set1_epi64x(static_cast<long long>(Word{1} << 63));
  auto* const place = reinterpret_cast<__m256i*>(words);
  const __m256i sum = _mm256_add_epi64(_mm256_loadu_si256(place), added);
  const __m256i carries =
      _mm256_cmpgt_epi64(_mm256_xor_si256(added, sign), _mm256_xor_si256(sum, sign));
  _mm256_storeu_si256(place, _mm256_sub_epi64(sum, _mm256_slli_si256(carries, 8)));
}

[[gnu::target("avx2")]] void add_pairs_with_avx2(const PairColumns& columns,
                                                 std::array<double, 2> scales, Word* words,
                                                 std::size_t stride, Prefetching prefetching) {
  const auto [cells, one, other] = columns;
  const std::size_t n_ahead = prefetching.is_wanted ? cells.size() + prefetching.n_next : 0;
  for (std::size_t i = 0; i < cells.size(); i += 4) {
    if (i + prefetch_distance + 4 <= n_ahead) {
      for (std::size_t k = i + prefetch_distance; k < i + prefetch_distance + 4; ++k) {
        __builtin_prefetch(words + cells.data()[k] * stride, 1);
      }
    }
    const auto a = words_of(one + i, scales[0]);
    const auto b = words_of(other + i, scales[1]);
    const __m256i a_even = _mm256_unpacklo_epi64(a.low, a.high);
    const __m256i a_odd = _mm256_unpackhi_epi64(a.low, a.high);
    const __m256i b_even = _mm256_unpacklo_epi64(b.low, b.high);
    const __m256i b_odd = _mm256_unpackhi_epi64(b.low, b.high);
    add_two_numbers(words + cells[i] * stride, _mm256_permute2x128_si256(a_even, b_even, 0x20));
    add_two_numbers(words + cells[i + 1] * stride, _mm256_permute2x128_si256(a_odd, b_odd, 0x20));
    add_two_numbers(words + cells[i + 2] * stride, _mm256_permute2x128_si256(a_even, b_even, 0x31));
    add_two_numbers(words + cells[i + 3] * stride, _mm256_permute2x128_si256(a_odd, b_odd, 0x31));
  }
}

}  // namespace

std::size_t add_pairs(const PairColumns& columns, std::array<int, 2> bases, Word* words,
                      std::size_t stride, Prefetching prefetching) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (!has_avx2) {
    return 0;
  }
  const std::size_t n = columns.cells.size() / 4 * 4;
  add_pairs_with_avx2({columns.cells.first(n), columns.one, columns.other},
                      {scale_of(bases[0]), scale_of(bases[1])}, words, stride, prefetching);
  return n;
}

#else

std::size_t add_pairs(const PairColumns& /*columns*/, std::array<int, 2> /*bases*/, Word* /*words*/,
                      std::size_t /*stride*/, Prefetching /*prefetching*/) {
  return 0;
}

#endif

}  // namespace forkrun::fixed_point
