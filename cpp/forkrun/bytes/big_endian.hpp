#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace forkrun {

template <typename T>
T big_endian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (sizeof(T) == 2) {
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  } else {
    return value;
  }
}

template <typename T>
void put_big_endian(std::byte* to, T value) {
  const T swapped = big_endian<T>(reinterpret_cast<const std::byte*>(&value));
  std::memcpy(to, &swapped, sizeof(T));
}

/// Copies n values of `size` bytes (1, 2, 4 or 8), reversing the bytes of each.
void swap_copy(std::byte* to, const std::byte* from, std::size_t n, std::size_t size);

}  // namespace forkrun
