#include <forkrun/bytes/big_endian.hpp>

#include <forkrun/bytes/instructions.hpp>

namespace forkrun {

namespace {

template <typename T>
FORKRUN_INLINE void swap_loop(std::byte* to, const std::byte* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const T value = big_endian<T>(from + i * sizeof(T));
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

FORKRUN_CLONES void swap16(std::byte* to, const std::byte* from, std::size_t n) {
  swap_loop<std::uint16_t>(to, from, n);
}
FORKRUN_CLONES void swap32(std::byte* to, const std::byte* from, std::size_t n) {
  swap_loop<std::uint32_t>(to, from, n);
}
FORKRUN_CLONES void swap64(std::byte* to, const std::byte* from, std::size_t n) {
  swap_loop<std::uint64_t>(to, from, n);
}

}  // namespace

void swap_copy(std::byte* to, const std::byte* from, std::size_t n, std::size_t size) {
  switch (size) {
    case 2: return swap16(to, from, n);
    case 4: return swap32(to, from, n);
    case 8: return swap64(to, from, n);
    default: std::memcpy(to, from, n * size);
  }
}

}  // namespace forkrun
