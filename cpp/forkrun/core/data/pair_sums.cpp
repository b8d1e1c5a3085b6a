#include <forkrun/core/data/pair_sums.hpp>

#include <cmath>

#include <forkrun/core/data/vectorised.hpp>

#if defined(__x86_64__) && defined(__GNUC__)
#define FORKRUN_HAS_AVX2_KERNELS
#include <immintrin.h>
#endif

namespace forkrun::fixed_point {

namespace {

using Doubles = double __attribute__((vector_size(32)));

}  // namespace

std::optional<double> splitter_of(BitRange range) {
  if (range.low >= range.high) {  // all are 0
    return 1.0;
  }
  const int middle = range.low + 54 - bits_of_most_summed;  // sums of lower parts have 53 bits
  const int splitter = middle + 52;
  const bool fits = range.high + bits_of_most_summed <= middle + 53;
  return fits && std::abs(splitter) < 1000 ? std::optional{std::ldexp(1.5, splitter)}
                                           : std::nullopt;
}

FORKRUN_VECTORISED
void sum_parts(const PairColumns& columns, std::array<double, 2> splitters, PartSums* sums) {
  const auto [cells, one, other] = columns;
  const Doubles split_one = Doubles{} + splitters[0];
  const Doubles split_other = Doubles{} + splitters[1];
  const auto sum = [&](std::size_t entry) -> Doubles& {
    return *reinterpret_cast<Doubles*>(sums + cells[entry]);
  };
  std::size_t i = 0;
  for (; i + 4 <= cells.size(); i += 4) {
    const Doubles a{one[i], one[i + 1], one[i + 2], one[i + 3]};
    const Doubles b{other[i], other[i + 1], other[i + 2], other[i + 3]};
    const Doubles ah = (a + split_one) - split_one;
    const Doubles bh = (b + split_other) - split_other;
    const Doubles al = a - ah;
    const Doubles bl = b - bh;
    const Doubles a_even = __builtin_shufflevector(ah, al, 0, 4, 2, 6);
    const Doubles a_odd = __builtin_shufflevector(ah, al, 1, 5, 3, 7);
    const Doubles b_even = __builtin_shufflevector(bh, bl, 0, 4, 2, 6);
    const Doubles b_odd = __builtin_shufflevector(bh, bl, 1, 5, 3, 7);
    sum(i) += __builtin_shufflevector(a_even, b_even, 0, 1, 4, 5);
    sum(i + 1) += __builtin_shufflevector(a_odd, b_odd, 0, 1, 4, 5);
    sum(i + 2) += __builtin_shufflevector(a_even, b_even, 2, 3, 6, 7);
    sum(i + 3) += __builtin_shufflevector(a_odd, b_odd, 2, 3, 6, 7);
  }
  for (; i < cells.size(); ++i) {
    const double ah = (one[i] + splitters[0]) - splitters[0];
    const double bh = (other[i] + splitters[1]) - splitters[1];
    sum(i) += Doubles{ah, one[i] - ah, bh, other[i] - bh};
  }
}

#ifdef FORKRUN_HAS_AVX2_KERNELS

namespace {

#define FORKRUN_AVX2 [[gnu::target("avx2"), gnu::always_inline]] inline

constexpr std::size_t prefetch_distance = 16;
constexpr int piece_bits = 51;
constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
constexpr long long bias = 1LL << 50;

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
      _mm256_add_epi64(_mm256_srli_epi64(low, piece_bits), _mm256_set1_epi64x(bias - 1));
  const __m256i high =
      _mm256_add_epi64(_mm256_sub_epi64(_mm256_castpd_si256(upper), shifter_bits), borrowed);
  const __m256i mask = _mm256_set1_epi64x((1LL << piece_bits) - 1);
  return {_mm256_or_si256(_mm256_and_si256(low, mask), _mm256_slli_epi64(high, piece_bits)),
          _mm256_sub_epi64(_mm256_srli_epi64(high, word_bits - piece_bits),
                           _mm256_set1_epi64x(bias >> (word_bits - piece_bits)))};
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
                                                 std::size_t stride, bool prefetches) {
  const auto [cells, one, other] = columns;
  for (std::size_t i = 0; i < cells.size(); i += 4) {
    if (prefetches && i + prefetch_distance + 4 <= cells.size()) {
      for (std::size_t k = i + prefetch_distance; k < i + prefetch_distance + 4; ++k) {
        __builtin_prefetch(words + cells[k] * stride, 1);
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
                      std::size_t stride, bool prefetches) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (!has_avx2) {
    return 0;
  }
  const std::size_t n = columns.cells.size() / 4 * 4;
  add_pairs_with_avx2({columns.cells.first(n), columns.one, columns.other},
                      {scale_of(bases[0]), scale_of(bases[1])}, words, stride, prefetches);
  return n;
}

#else

std::size_t add_pairs(const PairColumns& /*columns*/, std::array<int, 2> /*bases*/, Word* /*words*/,
                      std::size_t /*stride*/, bool /*prefetches*/) {
  return 0;
}

#endif

}  // namespace forkrun::fixed_point
