#include <forkrun/formats/rntuple/write/page_encoding.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::rntuple {

namespace {

template <typename T>
T number_at(const std::byte* values, std::size_t i) {
  T value;
  std::memcpy(&value, values + i * sizeof(T), sizeof(T));
  return value;
}

/// The first bytes of all numbers, then their second ones, and so on. Without a loop over these, so
/// that the one over numbers becomes one of vectors.
template <typename U, typename Number>
void split(std::size_t n, std::span<std::byte> into, Number number) {
  [&]<std::size_t... byte>(std::index_sequence<byte...>) {
    std::byte* __restrict to[] = {into.data() + byte * n...};
    for (std::size_t i = 0; i < n; ++i) {
      const U value = number(i);
      ((to[byte][i] = static_cast<std::byte>(value >> (8 * byte))), ...);
    }
  }(std::make_index_sequence<sizeof(U)>{});
}

template <typename U>
void split_numbers(std::span<const std::byte> values, std::size_t n, std::span<std::byte> into) {
  split<U>(n, into, [from = values.data()](std::size_t i) { return number_at<U>(from, i); });
}

/// Signed numbers are stored as 0, -1, 1, -2, …
template <typename U>
void split_signed(std::span<const std::byte> values, std::size_t n, std::span<std::byte> into) {
  split<U>(n, into, [from = values.data()](std::size_t i) {
    const auto value = number_at<U>(from, i);
    const auto is_negative = static_cast<U>(value >> (8 * sizeof(U) - 1));
    return static_cast<U>(static_cast<U>(value << 1U) ^ static_cast<U>(U{0} - is_negative));
  });
}

/// Places of ends: each as what is added to the one before it in the page.
template <typename U>
void split_ends(std::span<const std::byte> values, std::size_t n, std::span<std::byte> into) {
  split<U>(n, into, [from = values.data()](std::size_t i) {
    const auto before = i == 0 ? 0 : number_at<std::uint64_t>(from, i - 1);
    return static_cast<U>(number_at<std::uint64_t>(from, i) - before);
  });
}

/// Eight values at a time: the last bits of eight bytes become one byte, the first its lowest bit.
void pack_bits(std::span<const std::byte> values, std::size_t n, std::span<std::byte> into) {
  constexpr std::uint64_t last_bits = 0x0101010101010101, to_highest_byte = 0x0102040810204080;
  constexpr std::size_t in_byte = 8;
  for (std::size_t i = 0; i < n; i += in_byte) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, values.data() + i, std::min(in_byte, n - i));
    into[i / in_byte] = static_cast<std::byte>(((eight & last_bits) * to_highest_byte) >> 56U);
  }
}

/// Packs numbers of so many bits, the lowest bit first.
void pack_numbers(std::span<const std::byte> values, std::size_t n, std::size_t n_bits,
                  std::span<std::byte> into) {
  std::ranges::fill(into, std::byte{});
  std::size_t bit = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto left = std::uint64_t{number_at<std::uint32_t>(values.data(), i)} << (bit % 8);
    for (auto byte = bit / 8; left != 0; ++byte, left >>= 8U) {
      into[byte] |= static_cast<std::byte>(left);
    }
    bit += n_bits;
  }
}

void narrow_ends(std::span<const std::byte> values, std::size_t n, std::span<std::byte> into) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto end = static_cast<std::uint32_t>(number_at<std::uint64_t>(values.data(), i));
    std::memcpy(into.data() + i * sizeof end, &end, sizeof end);
  }
}

}  // namespace

StoredColumn new_column(ElementType element, std::uint32_t field) {
  using enum Encoding;
  const auto encoding = [element] {
    switch (element) {
      case ElementType::boolean: return bit;
      case ElementType::int8: return int8;
      case ElementType::uint8: return uint8;
      case ElementType::int16: return split_int16;
      case ElementType::uint16: return split_uint16;
      case ElementType::int32: return split_int32;
      case ElementType::uint32: return split_uint32;
      case ElementType::int64: return split_int64;
      case ElementType::uint64: return split_uint64;
      case ElementType::float32: return split_real32;
      case ElementType::float64: return split_real64;
      case ElementType::character: return character;
    }
    throw Error("unknown type of values");
  }();
  const auto n_bits = encoding == bit ? 1 : 8 * size_of(element);
  return {.encoding = encoding, .n_bits = static_cast<std::uint16_t>(n_bits), .field = field};
}

StoredColumn new_ends(std::uint32_t field) {
  return {.encoding = Encoding::split_index64, .n_bits = 64, .field = field};
}

void encode_page(const StoredColumn& column, std::span<const std::byte> values, std::size_t n,
                 std::span<std::byte> into) {
  using enum Encoding;
  switch (column.encoding) {
    case bit: return pack_bits(values, n, into);
    case split_int16: return split_signed<std::uint16_t>(values, n, into);
    case split_int32: return split_signed<std::uint32_t>(values, n, into);
    case split_int64: return split_signed<std::uint64_t>(values, n, into);
    case split_uint16: return split_numbers<std::uint16_t>(values, n, into);
    case split_uint32:
    case split_real32: return split_numbers<std::uint32_t>(values, n, into);
    case split_uint64:
    case split_real64: return split_numbers<std::uint64_t>(values, n, into);
    case split_index32: return split_ends<std::uint32_t>(values, n, into);
    case split_index64: return split_ends<std::uint64_t>(values, n, into);
    case index32: return narrow_ends(values, n, into);
    case real32_truncated:
    case real32_quantised: return pack_numbers(values, n, column.n_bits, into);
    case switched: throw Error("variants cannot be written");
    default: std::ranges::copy(values, into.begin());
  }
}

}  // namespace forkrun::rntuple
