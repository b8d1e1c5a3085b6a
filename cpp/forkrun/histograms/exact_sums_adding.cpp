#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#if defined(__x86_64__) && defined(__GNUC__)
#define FORKRUN_HAS_AVX2_KERNELS
#include <immintrin.h>
#endif

#include <forkrun/histograms/exact_sums.hpp>
#include <forkrun/histograms/fixed_point.hpp>
#include <forkrun/histograms/split_values.hpp>
#include <forkrun/histograms/vectorised.hpp>

namespace forkrun {

using namespace fixed_point;

namespace {

/// Two values for each filled cell. The arrays are as long as `cells`.
struct PairColumns {
  std::span<const std::uint32_t> cells;
  const double* one;
  const double* other;
};

/// Whether to prefetch words for some values.
struct Prefetching {
  bool is_wanted;
  std::size_t n_next;  ///< cells after the last one that are needed soon
};

#ifdef FORKRUN_HAS_AVX2_KERNELS

#define FORKRUN_AVX2 [[gnu::target("avx2"), gnu::always_inline]] inline

constexpr long long signed_bias{bias};

/// Factor that brings the highest piece of a value before the point.
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

/// Adds two numbers of two words. Words compare as unsigned: the highest bit is flipped.
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

std::size_t add_two_sums(const PairColumns& columns, std::array<int, 2> bases, Word* words,
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

/// Adds to numbers of two words: those of cell c are at words[c * stride], first `one`'s. `bases`:
/// exponents of their lowest bits. \returns the number of values added from each column: a multiple
/// of 4, or 0 if the processor lacks the instructions. \pre as for `split_values<2>`
std::size_t add_two_sums(const PairColumns& /*columns*/, std::array<int, 2> /*bases*/,
                         Word* /*words*/, std::size_t /*stride*/, Prefetching /*prefetching*/) {
  return 0;
}

#endif

constexpr std::size_t fewest_split = 4;  // fewer values are added one by one

struct UpperHalves {
  std::int32_t least;
  std::int32_t greatest;
};

/// Range of the magnitudes, without a branch: so it becomes vector instructions.
FORKRUN_VECTORISED
UpperHalves upper_halves(std::span<const double> values) {
  std::int32_t greatest = 0;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const double value : values) {
    const auto upper = static_cast<std::int32_t>(std::bit_cast<Word>(value) >> 32 & 0x7fffffff);
    greatest = std::max(greatest, upper);
    least = std::min(least, upper);
  }
  return {least, greatest};
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

}  // namespace

bool ExactSums::find_range(std::span<const double> values, Range& range) {
  auto [least, greatest] = upper_halves(values);
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

void ExactSums::add(std::size_t cell, std::span<const double> values) {
  if (is_dense_ && n_words_ == 2 && add_if_fits(cell, values)) {
    return;
  }
  const auto number = static_cast<std::uint32_t>(cell);
  std::array<const double*, most_sums> columns{};
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
    if (magnitude == 0) {
      continue;
    }
    const int field = static_cast<int>(magnitude >> fraction_bits);
    const int low = std::max(1, field) + field_offset;
    const int high = low + fraction_bits + 1;
    auto& [base, seen] = windows_[s];
    if (field == exponent_mask || low < base ||
        std::max(high, seen.high) + spare_bits(0) > base + 2 * word_bits) {
      return false;
    }
    seen = seen.joined({low, high});
  }
  ++n_adds_;
  const auto words = words_.writable();
  for (std::size_t s = 0; s < n_sums_; ++s) {
    add_value(&words[(cell * n_sums_ + s) * 2], values[s], windows_[s].base, 2);
  }
  return true;
}

std::optional<ExactSums::Ranges> ExactSums::ranges_of(std::span<const double* const> columns,
                                                      std::size_t n) {
  Ranges ranges{};
  bool are_finite = true;
  for (std::size_t s = 0; s < columns.size(); ++s) {
    are_finite &= find_range({columns[s], n}, ranges[s]);
  }
  return are_finite ? std::optional{ranges} : std::nullopt;
}

void ExactSums::add(std::span<const std::uint32_t> cells, std::span<const double* const> columns) {
  if (const auto ranges = ranges_of(columns, cells.size())) {
    make_room(*ranges, cells.size());
    add_in_room(cells, columns);
  } else {
    add_each(cells, columns);
  }
}

bool ExactSums::can_split_all() const {
  return std::ranges::all_of(
      windows_, [&](const Window& window) { return can_split(window.base, n_words_); });
}

void ExactSums::add_in_room(std::span<const std::uint32_t> cells,
                            std::span<const double* const> columns, std::size_t n_next) {
  const auto add_with = [&]<std::size_t N_WORDS>(auto some, auto values) {
    switch (n_sums_) {
      case 1: return add_split<1, N_WORDS>(some, values);
      case 2: return add_split<2, N_WORDS>(some, values);
      default: return add_split<0, N_WORDS>(some, values);
    }
  };
  const bool can_split_all = this->can_split_all();
  std::size_t first = can_split_all && n_words_ == 2 ? add_pairs(cells, columns, n_next) : 0;
  for (; first < cells.size(); first += n_at_a_time) {
    const std::size_t n = std::min(n_at_a_time, cells.size() - first);
    std::array<const double*, most_sums> values{};
    std::ranges::transform(columns, values.begin(), [&](auto column) { return column + first; });
    const auto some = cells.subspan(first, n);
    if (n < fewest_split) {
      add_wide(some, values.data());
    } else if (can_split_all && n_words_ == 2) {
      add_with.template operator()<2>(some, values.data());
    } else if (can_split_all) {
      add_with.template operator()<3>(some, values.data());
    } else {
      add_wide(some, values.data());
    }
  }
}

void ExactSums::add_sums_in_room(std::span<const std::uint32_t> cells,
                                 std::span<const double* const> columns) {
  constexpr int bits_of_number = 12;
  const bool can_split_sums = std::ranges::all_of(windows_, [&](const Window& window) {
    return window.seen.high + bits_of_number <= window.base + bits_split(n_words_);
  });
  can_split_sums ? add_in_room(cells, columns) : add_wide(cells, columns.data());
}

/// \returns the number added
std::size_t ExactSums::add_pairs(std::span<const std::uint32_t> cells,
                                 std::span<const double* const> columns, std::size_t n_next) {
  if (n_sums_ % 2 != 0) {
    return 0;
  }
  std::size_t n_added = 0;
  for (std::size_t s = 0; s < n_sums_; s += 2) {
    n_added =
        add_two_sums({cells, columns[s], columns[s + 1]}, {windows_[s].base, windows_[s + 1].base},
                     words_.unshared().data() + s * n_words_, stride(),
                     {.is_wanted = prefetches(), .n_next = n_next});
  }
  return n_added;
}

template <std::size_t N_SUMS, std::size_t N_WORDS>
void ExactSums::add_split(std::span<const std::uint32_t> cells, const double* const* columns) {
  const std::size_t n_sums = N_SUMS == 0 ? n_sums_ : N_SUMS;
  std::array<WordColumns, N_SUMS == 0 ? 8 : N_SUMS> added;
  const std::size_t n = cells.size();
  for (std::size_t s = 0; s < n_sums; ++s) {
    split_values<N_WORDS>(columns[s], n, windows_[s].base, added[s]);
  }
  Word* const words = words_.unshared().data();
  const bool prefetches = this->prefetches();
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
  const auto words = words_.unshared();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      add_value(&words[cells[i] * stride() + s * n_words_], columns[s][i], windows_[s].base,
                n_words_);
    }
  }
}

std::uint8_t ExactSums::kind_of(double value) {
  if (std::isnan(value)) {
    return not_a_number;
  }
  return value > 0 ? plus_infinite : minus_infinite;
}

/// Adds entry by entry, as some values are not finite.
void ExactSums::add_each(std::span<const std::uint32_t> cells,
                         std::span<const double* const> columns) {
  std::array<double, most_sums> finite{};
  std::array<const double*, most_sums> places{};
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

}  // namespace forkrun
