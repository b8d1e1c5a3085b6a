#include <forkrun/formats/rntuple/page_values.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::rntuple {

namespace {

using Packed = const std::byte*;

template <typename T>
T packed_value(Packed from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

/// Value i of n whose first bytes lie together, then their second ones, and so on. Without a loop,
/// so that one over values becomes one of vectors.
template <typename U>
U split_value(Packed from, std::size_t n, std::size_t i) {
  return [=]<std::size_t... byte>(std::index_sequence<byte...>) {
    return static_cast<U>((... | (std::to_integer<U>(from[byte * n + i]) << (8 * byte))));
  }(std::make_index_sequence<sizeof(U)>{});
}

/// Signed numbers are stored as 0, -1, 1, -2, …
template <typename U>
U zigzag_value(U stored) {
  return static_cast<U>((stored >> 1U) ^ (U{0} - (stored & 1U)));
}

template <typename T, typename Value>
void fill(std::byte* into, const PackedPage& page, Value value) {
  auto* __restrict to = reinterpret_cast<T*>(into);
  for (const auto& [first, last] : page.wanted) {
    for (std::size_t i = 0; i < last - first; ++i) {
      to[i] = static_cast<T>(value(first + i));
    }
    to += last - first;
  }
}

template <typename U>
void unsplit(const PackedPage& page, std::byte* into) {
  const auto* from = page.bytes.data();
  fill<U>(into, page, [=, n = page.n_values](std::size_t i) { return split_value<U>(from, n, i); });
}

template <typename U>
void unsplit_signed(const PackedPage& page, std::byte* into) {
  const auto* from = page.bytes.data();
  fill<U>(into, page, [=, n = page.n_values](std::size_t i) {
    return zigzag_value(split_value<U>(from, n, i));
  });
}

/// Copies values of so many bytes each as they are.
void copy_values(const PackedPage& page, std::size_t n_bytes, std::byte* into) {
  for (const auto& [first, last] : page.wanted) {
    std::memcpy(into, page.bytes.data() + first * n_bytes, (last - first) * n_bytes);
    into += (last - first) * n_bytes;
  }
}

/// How many of the bytes of n split values are not 0 in all of them; 1 at least.
template <typename U>
std::size_t n_used_bytes(Packed from, std::size_t n) {
  auto n_used = sizeof(U);
  for (; n_used > 1; --n_used) {
    unsigned any = 0;
    for (std::size_t i = 0; i < n; ++i) {
      any |= std::to_integer<unsigned>(from[(n_used - 1) * n + i]);
    }
    if (any != 0) {
      break;
    }
  }
  return n_used;
}

template <typename U, typename Value>
void add_up(std::size_t n, std::byte* into, Value value) {
  auto* to = reinterpret_cast<std::int64_t*>(into);
  U sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum = static_cast<U>(sum + static_cast<U>(value(i)));
    to[i] = static_cast<std::int64_t>(sum);
  }
}

/// Numbers of places: each is stored as what is added to the one before it, which is rarely more
/// than a byte can say.
template <typename U>
void sum_up(Packed from, std::size_t n, std::byte* into) {
  switch (n_used_bytes<U>(from, n)) {
    case 1: return add_up<U>(n, into, [=](std::size_t i) { return from[i]; });
    case 2:
      return add_up<U>(n, into,
                       [=](std::size_t i) { return split_value<std::uint16_t>(from, n, i); });
    default: return add_up<U>(n, into, [=](std::size_t i) { return split_value<U>(from, n, i); });
  }
}

/// Eight values at a time: each bit of a byte becomes a byte of its own.
void unpack_bytes_of_bits(Packed from, std::size_t n, std::byte* into) {
  constexpr std::uint64_t each_byte = 0x0101010101010101, bit_of_byte = 0x8040201008040201;
  constexpr std::size_t in_byte = 8;
  for (std::size_t i = 0; i < n; i += in_byte) {
    const auto bits = std::to_integer<std::uint64_t>(from[i / in_byte]) * each_byte & bit_of_byte;
    const auto values = ((bits + 0x7f * each_byte) >> (in_byte - 1)) & each_byte;
    std::memcpy(into + i, &values, std::min(in_byte, n - i));
  }
}

void unpack_bits(const PackedPage& page, std::byte* into) {
  constexpr std::size_t in_byte = 8;
  for (auto [first, last] : page.wanted) {
    for (; first < last && first % in_byte != 0; ++first) {
      *into++ = page.bytes[first / in_byte] >> (first % in_byte) & std::byte{1};
    }
    unpack_bytes_of_bits(page.bytes.data() + first / in_byte, last - first, into);
    into += last - first;
  }
}

float real_of_half(std::uint16_t half) {
  constexpr std::uint32_t sign_bit = 0x8000, exponent_bits = 0x1f, mantissa_bits = 0x3ff;
  const std::uint32_t sign = (half & sign_bit) << 16U;
  const std::uint32_t exponent = (half >> 10U) & exponent_bits;
  const std::uint32_t mantissa = half & mantissa_bits;
  if (exponent == 0) {
    const auto value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  constexpr std::uint32_t other_bias = 127 - 15, infinite = 0xff;
  const auto wide = exponent == exponent_bits ? infinite : exponent + other_bias;
  return std::bit_cast<float>(sign | wide << 23U | mantissa << 13U);
}

/// Value i of packed numbers of so many bits, the lowest bit first.
std::uint64_t bits_at(std::span<const std::byte> packed, std::size_t i, std::size_t n_bits) {
  const auto bit = i * n_bits;
  const auto byte = bit / 8;
  std::uint64_t word = 0;
  std::memcpy(&word, packed.data() + byte, std::min(sizeof word, packed.size() - byte));
  return (word >> (bit % 8)) & ((std::uint64_t{1} << n_bits) - 1);
}

void unpack_numbers(const PackedPage& page, std::size_t n_bits, std::byte* into) {
  fill<std::uint32_t>(into, page, [&](std::size_t i) { return bits_at(page.bytes, i, n_bits); });
}

/// Computes as ROOT does, rounding included.
template <typename T>
void unquantise(const StoredColumn& column, const PackedPage& page, std::byte* into) {
  const auto [least, most] = column.range;
  const std::size_t n_bits = column.n_bits;
  const auto step = (most - least) / static_cast<double>((std::uint64_t{1} << n_bits) - 1);
  fill<T>(into, page, [&](std::size_t i) {
    return static_cast<T>(static_cast<double>(bits_at(page.bytes, i, n_bits)) * step + least);
  });
}

template <typename T>
void decode_reals(const StoredColumn& column, const PackedPage& page, std::byte* into) {
  const auto* from = page.bytes.data();
  const auto n = page.n_values;
  switch (column.encoding) {
    case Encoding::real16:
      return fill<T>(into, page, [=](std::size_t i) {
        return real_of_half(packed_value<std::uint16_t>(from, i));
      });
    case Encoding::real32:
      return fill<T>(into, page, [=](std::size_t i) { return packed_value<float>(from, i); });
    case Encoding::split_real32:
      return fill<T>(into, page, [=](std::size_t i) {
        return std::bit_cast<float>(split_value<std::uint32_t>(from, n, i));
      });
    case Encoding::real32_truncated:
      return fill<T>(into, page, [&](std::size_t i) {
        const auto bits = bits_at(page.bytes, i, column.n_bits) << (32U - column.n_bits);
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      });
    default: return unquantise<T>(column, page, into);
  }
}

bool has_fewer_bits(Encoding encoding) {
  return encoding == Encoding::real32_truncated || encoding == Encoding::real32_quantised;
}

}  // namespace

ElementType element_of(Encoding encoding) {
  using enum Encoding;
  switch (encoding) {
    case bit: return ElementType::boolean;
    case byte:
    case uint8: return ElementType::uint8;
    case character: return ElementType::character;
    case int8: return ElementType::int8;
    case int16:
    case split_int16: return ElementType::int16;
    case uint16:
    case split_uint16: return ElementType::uint16;
    case int32:
    case split_int32: return ElementType::int32;
    case uint32:
    case split_uint32: return ElementType::uint32;
    case uint64:
    case split_uint64: return ElementType::uint64;
    case real64:
    case split_real64: return ElementType::float64;
    case real16:
    case real32:
    case split_real32:
    case real32_truncated:
    case real32_quantised: return ElementType::float32;
    default: return ElementType::int64;  // and numbers of places in lists
  }
}

std::size_t packed_bytes(const StoredColumn& column, std::uint64_t n_values) {
  return (n_values * column.n_bits + 7) / 8;
}

bool can_be_read_as(const StoredColumn& column, ElementType element) {
  const auto own = element_of(column.encoding);
  return column.encoding != Encoding::switched &&
         (own == element || (own == ElementType::float32 && element == ElementType::float64) ||
          (own == ElementType::character && element == ElementType::int8));
}

bool are_apart(Encoding encoding) {
  return encoding != Encoding::split_index32 && encoding != Encoding::split_index64;
}

void decode_page(const StoredColumn& column, ElementType element, const PackedPage& page,
                 std::byte* into) {
  using enum Encoding;
  const auto* from = page.bytes.data();
  switch (column.encoding) {
    case bit: return unpack_bits(page, into);
    case index32:
      return fill<std::int64_t>(
          into, page, [=](std::size_t i) { return packed_value<std::uint32_t>(from, i); });
    case split_index32: return sum_up<std::uint32_t>(from, page.n_values, into);
    case split_index64: return sum_up<std::uint64_t>(from, page.n_values, into);
    case split_int16: return unsplit_signed<std::uint16_t>(page, into);
    case split_int32: return unsplit_signed<std::uint32_t>(page, into);
    case split_int64: return unsplit_signed<std::uint64_t>(page, into);
    case split_uint16: return unsplit<std::uint16_t>(page, into);
    case split_uint32: return unsplit<std::uint32_t>(page, into);
    case split_uint64:
    case split_real64: return unsplit<std::uint64_t>(page, into);
    case real16:
    case real32:
    case split_real32:
    case real32_truncated:
    case real32_quantised:
      return element == ElementType::float64 ? decode_reals<double>(column, page, into)
                                             : decode_reals<float>(column, page, into);
    default: copy_values(page, column.n_bits / 8, into);
  }
}

void decode_page(const StoredColumn& column, ElementType element, std::span<const std::byte> packed,
                 std::size_t n, std::byte* into) {
  const PlacesInPage all{0, n};
  decode_page(column, element, {packed, n, {&all, 1}}, into);
}

ElementType stored_element(const StoredColumn& column) {
  if (has_fewer_bits(column.encoding)) {
    return ElementType::uint32;
  }
  return column.encoding == Encoding::real16 ? ElementType::uint16 : element_of(column.encoding);
}

void decode_stored(const StoredColumn& column, const PackedPage& page, std::byte* into) {
  if (has_fewer_bits(column.encoding)) {
    return unpack_numbers(page, column.n_bits, into);
  }
  if (column.encoding == Encoding::real16) {
    return copy_values(page, sizeof(std::uint16_t), into);
  }
  decode_page(column, stored_element(column), page, into);
}

void decode_stored(const StoredColumn& column, std::span<const std::byte> packed, std::size_t n,
                   std::byte* into) {
  const PlacesInPage all{0, n};
  decode_stored(column, {packed, n, {&all, 1}}, into);
}

}  // namespace forkrun::rntuple
