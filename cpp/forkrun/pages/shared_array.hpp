#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

namespace forkrun::pages {

/// Zeros in memory that a process shares with the children it forks: what one writes, all see.
template <typename T>
class SharedArray {
 public:
  explicit SharedArray(std::size_t size) {
    if (size == 0) {
      return;
    }
    void* memory = ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::system_error{errno, std::generic_category(), "no shared memory"};
    }
    values_ = {static_cast<T*>(memory), size};
  }
  ~SharedArray() {
    if (!values_.empty()) {
      ::munmap(values_.data(), values_.size_bytes());
    }
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  [[nodiscard]] std::span<T> values() noexcept { return values_; }
  [[nodiscard]] std::span<const T> values() const noexcept { return values_; }

 private:
  std::span<T> values_;
};

}  // namespace forkrun::pages
