#include <forkrun/bytes/inflate.hpp>

#include <emmintrin.h>

#include <algorithm>
#include <array>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/inflation.hpp>

#ifdef __SSE2__
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

using namespace decode_entry;
using namespace inflating;

/// Copies a match in words; writes up to 31 bytes after it.
FORKRUN_INLINE void copy_match(std::byte* to, std::size_t distance, std::size_t length) {
  const auto* from = to - distance;
  const auto* const last = to + length;
  constexpr std::size_t word = 8, large = 16;
  if (distance >= large) {
    do {
      std::memcpy(to, from, large);
      to += large;
      from += large;
    } while (to < last);
  } else if (distance == 1) {
    std::memset(to, std::to_integer<int>(*from), length);
  } else {
    const auto step = std::min(distance, word);
    do {
      std::memcpy(to, from, word);
      to += step;
      from += step;
    } while (to < last);
  }
}

/// A stream within a block, far from both of its ends.
struct Fast {
  Place place;
  std::uint32_t entry{};  ///< the next, not yet dropped
  const std::uint32_t* symbols;
  const std::uint32_t* distances;
  const std::byte* begin;

  explicit FORKRUN_INLINE Fast(const Inflation& from)
      : place{from.place},
        symbols{from.codes->symbols.data()},
        distances{from.codes->distances.data()},
        begin{from.begin} {
    place.fill();
    look_up();
  }
  /// Decodes up to three literals, or a match after up to two of them. Returns the new place.
  FORKRUN_INLINE At step() {
    auto before = take();
    if ((entry & is_literal) != 0) {
      before = put_and_take();
      if ((entry & is_literal) != 0) {
        before = put_and_take();
        if ((entry & is_literal) != 0) {
          return put_last();
        }
      }
    }
    if ((entry & is_other) != 0) {
      if ((entry & ends_block) != 0) {
        return At::end;
      }
      entry = symbols[(entry >> at_value) + lowest(place.bits, (entry >> at_code_bits) & 0x3fU)];
      before = take();
      if ((entry & is_literal) != 0) {
        return put_last();
      }
      if ((entry & is_other) != 0) {
        return At::end;
      }
    }
    return match(value_of(entry, before));
  }

 private:
  FORKRUN_INLINE void look_up() { entry = symbols[lowest(place.bits, n_symbol_bits)]; }
  /// The bits that began with the entry.
  FORKRUN_INLINE std::uint64_t take() {
    const auto before = place.bits;
    place.drop(entry);
    return before;
  }
  FORKRUN_INLINE std::uint64_t put_and_take() {
    const auto literal = entry >> at_value;
    look_up();
    const auto before = take();
    *place.to++ = static_cast<std::byte>(literal);
    return before;
  }
  FORKRUN_INLINE At put_last() {
    const auto literal = entry >> at_value;
    look_up();
    place.fill();
    *place.to++ = static_cast<std::byte>(literal);
    return At::symbols;
  }

  FORKRUN_INLINE At match(std::size_t length) {
    place.fill();
    auto of_distance = distances[lowest(place.bits, n_distance_bits)];
    if ((of_distance & is_other) != 0) {
      place.drop(n_distance_bits);
      of_distance = distances[(of_distance >> at_value) +
                              lowest(place.bits, (of_distance >> at_code_bits) & 0x3fU)];
    }
    const auto distance = value_of(of_distance, place.bits);
    place.drop(of_distance);
    if (distance > static_cast<std::size_t>(place.to - begin) || distance == 0 || length == 0) {
      return At::failure;
    }
    look_up();
    place.fill();
    copy_match(place.to, distance, length);
    place.to += length;
    return At::symbols;
  }
};

/// Returns from fast steps. \param at their end
FORKRUN_INLINE void put_back(const Fast& fast, At at, Inflation& into) {
  into.place = fast.place;
  into.place.n_bits &= 0xffU;
  if (at == At::end) {
    into.end_block();
  } else {
    into.at = at;
  }
}

FORKRUN_CLONES_OF_BITS void run(Inflation& one) {
  Fast fast{one};
  auto at = At::symbols;
  do {
    at = fast.step();
  } while (at == At::symbols && one.has_room(fast.place));
  put_back(fast, at, one);
}

FORKRUN_CLONES_OF_BITS void run_both(Inflation& one, Inflation& other) {
  Fast fast{one}, fast_other{other};
  auto at = At::symbols, at_other = At::symbols;
  do {
    at = fast.step();
    at_other = fast_other.step();
  } while (at == At::symbols && at_other == At::symbols && one.has_room(fast.place) &&
           other.has_room(fast_other.place));
  put_back(fast, at, one);
  put_back(fast_other, at_other, other);
}

void begin(const ZlibStream& stream, Inflation& of) {
  constexpr std::size_t n_head = 2, n_checksum = sizeof(std::uint32_t), least = 8;
  const auto from = stream.from;
  of.at = At::failure;
  if (from.size() < least) {
    return;
  }
  of.place = {from.data() + n_head, stream.into.data()};
  of.from_begin = from.data();
  of.from_end = from.data() + from.size() - n_checksum;
  of.begin = stream.into.data();
  of.end = of.begin + stream.into.size();
  of.n_missing = 0;
  const auto head = big_endian<std::uint16_t>(from.data());
  const bool is_deflated = (head & 0x0f00U) == 0x0800U && (head & 0xf000U) <= 0x7000U;
  const bool has_dictionary = (head & 0x20U) != 0;
  if (is_deflated && !has_dictionary && head % 31 == 0) {
    of.at = At::head_of_block;
  }
}

/// Decodes until steps can be fast, or to the end.
void prepare(Inflation& of) {
  while (of.at == At::head_of_block || (of.at == At::symbols && !of.has_room(of.place))) {
    if (!(of.at == At::symbols ? read_symbols(of) : read_head_of_block(of))) {
      of.at = At::failure;
    }
  }
}

bool is_right(Inflation& of) {
  return of.at == At::end && align(of) && of.place.from == of.from_end && of.place.to == of.end &&
         adler32({of.begin, of.end}) == big_endian<std::uint32_t>(of.from_end);
}

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

bool inflate(const ZlibStream& stream) { return inflate_to_end(stream).has_value(); }

std::optional<LastBlock> inflate_to_end(const ZlibStream& stream) {
  thread_local Inflation of;
  begin(stream, of);
  for (prepare(of); of.runs(); prepare(of)) {
    run(of);
  }
  const LastBlock last{of.head_of_block, of.n_bits_before()};
  return is_right(of) ? std::optional{last} : std::nullopt;
}

Inflated inflate_both(const ZlibStream& one, const ZlibStream& other) {
  thread_local std::array<Inflation, 2> both;
  auto& [first, second] = both;
  begin(one, first);
  begin(other, second);
  for (;;) {
    prepare(first);
    prepare(second);
    if (first.runs() && second.runs()) {
      run_both(first, second);
    } else if (first.runs() || second.runs()) {
      run(first.runs() ? first : second);
    } else {
      return {is_right(first), is_right(second)};
    }
  }
}

}  // namespace forkrun
