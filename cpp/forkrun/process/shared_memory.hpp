#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

/// Objects in an anonymous shared mapping: made before the fork, visible to parent and children.
/// Never destroyed, so that the end of one process does not destroy them for others.
template <class T>
class SharedArray {
 public:
  /// `what`: purpose, for the error without memory.
  SharedArray(std::size_t n, const std::string& what) {
    if (n == 0) {
      return;
    }
    void* memory =
        ::mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw Error{"no shared memory for " + what + ": " + std::strerror(errno) +
                  "; use fewer children, or free memory"};
    }
    items_ = {static_cast<T*>(memory), n};
    std::uninitialized_value_construct(items_.begin(), items_.end());
  }
  ~SharedArray() {
    if (!items_.empty()) {
      ::munmap(items_.data(), items_.size_bytes());
    }
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] T& operator[](std::size_t i) { return items_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::span<T> items_;
};

}  // namespace forkrun
