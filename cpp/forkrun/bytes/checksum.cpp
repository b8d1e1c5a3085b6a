#include <forkrun/bytes/checksum.hpp>

#include <algorithm>
#include <array>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace forkrun {

namespace {

constexpr std::size_t n_in_row = 32;
constexpr std::size_t most_rows = 1024;  ///< rows whose sums stay below 2^32 in each place

struct Sums {
  std::uint64_t of_bytes = 0;
  std::uint64_t weighted = 0;  ///< the last byte once, the one before it twice, and so on
};

#ifdef __SSE2__
std::uint64_t sum_of(__m128i values) {
  std::array<std::uint32_t, 4> four{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(four.data()), values);
  return std::uint64_t{four[0]} + four[1] + four[2] + four[3];
}

__m128i weighted_sum(__m128i bytes, short first) {
  const auto at = [first](int i) { return static_cast<short>(first - i); };
  const auto weights = _mm_setr_epi16(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
  const auto less = _mm_sub_epi16(weights, _mm_set1_epi16(8));
  const auto zero = _mm_setzero_si128();
  return _mm_add_epi32(_mm_madd_epi16(_mm_unpacklo_epi8(bytes, zero), weights),
                       _mm_madd_epi16(_mm_unpackhi_epi8(bytes, zero), less));
}

Sums sums_of_rows(const std::byte* from, std::size_t n_rows) {
  const auto zero = _mm_setzero_si128();
  auto sum = zero, of_rows_before = zero, within_rows = zero;
  for (const auto* const end = from + n_rows * n_in_row; from < end; from += n_in_row) {
    const auto* const row = reinterpret_cast<const __m128i*>(from);
    const auto one = _mm_loadu_si128(row), other = _mm_loadu_si128(row + 1);
    of_rows_before = _mm_add_epi32(of_rows_before, sum);
    sum = _mm_add_epi32(sum, _mm_add_epi32(_mm_sad_epu8(one, zero), _mm_sad_epu8(other, zero)));
    within_rows = _mm_add_epi32(
        within_rows, _mm_add_epi32(weighted_sum(one, n_in_row), weighted_sum(other, n_in_row / 2)));
  }
  return {sum_of(sum), sum_of(of_rows_before) * n_in_row + sum_of(within_rows)};
}
#else
Sums sums_of_rows(const std::byte* from, std::size_t n_rows) {
  Sums sums;
  for (std::size_t i = 0; i < n_rows * n_in_row; ++i) {
    sums.of_bytes += std::to_integer<std::uint64_t>(from[i]);
    sums.weighted += sums.of_bytes;
  }
  return sums;
}
#endif

}  // namespace

std::uint32_t adler32(std::span<const std::byte> bytes) {
  constexpr std::uint64_t modulus = 65521;
  std::uint64_t sum = 1, weighted = 0;
  while (bytes.size() >= n_in_row) {
    const auto n_rows = std::min(bytes.size() / n_in_row, most_rows);
    const auto n = n_rows * n_in_row;
    const auto rows = sums_of_rows(bytes.data(), n_rows);
    weighted = (weighted + n * sum + rows.weighted) % modulus;
    sum = (sum + rows.of_bytes) % modulus;
    bytes = bytes.subspan(n);
  }
  for (const auto byte : bytes) {
    sum += std::to_integer<std::uint64_t>(byte);
    weighted += sum;
  }
  return static_cast<std::uint32_t>((weighted % modulus) << 16U | sum % modulus);
}

}  // namespace forkrun
