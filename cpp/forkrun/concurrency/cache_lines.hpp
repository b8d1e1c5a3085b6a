#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace forkrun {

/// Least distance between data that different threads write [bytes]: not in one cache line, nor in
/// two that the processor fetches together.
inline constexpr std::size_t cache_line_pair = 128;

/// Allocates memory that begins and ends with a pair of cache lines.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <typename U>
  explicit(false) CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {}

  [[nodiscard]] T* allocate(std::size_t n) {
    const auto n_bytes = (n * sizeof(T) + cache_line_pair - 1) / cache_line_pair * cache_line_pair;
    return static_cast<T*>(::operator new(n_bytes, std::align_val_t{cache_line_pair}));
  }
  void deallocate(T* memory, std::size_t /*n*/) {
    ::operator delete(memory, std::align_val_t{cache_line_pair});
  }
  bool operator==(const CacheLineAllocator&) const = default;
};

/// A vector that shares no cache line with anything else.
template <typename T>
using CacheLineVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace forkrun
