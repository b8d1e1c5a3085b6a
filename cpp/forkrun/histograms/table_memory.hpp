#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace forkrun {

/// Zeroed memory that begins with a pair of cache lines and shares none with anything else. Of
/// several megabytes: in large pages where the system has them, so that random places are found
/// without walks through page tables.
[[nodiscard]] std::shared_ptr<void> zeroed_memory(std::size_t n_bytes);

/// A table of numbers, all 0 at first. Copies share its memory until one of them writes.
template <typename T>
class TableMemory {
 public:
  TableMemory() = default;
  explicit TableMemory(std::size_t n)
      : memory_{n == 0 ? nullptr : zeroed_memory(n * sizeof(T))}, n_{n} {}

  [[nodiscard]] bool empty() const { return n_ == 0; }
  [[nodiscard]] std::size_t size() const { return n_; }
  [[nodiscard]] std::span<const T> values() const {
    return {static_cast<const T*>(memory_.get()), n_};
  }
  /// Copies first if others share the memory.
  [[nodiscard]] std::span<T> writable() {
    if (memory_.use_count() > 1) {
      TableMemory own{n_};
      std::ranges::copy(values(), own.unshared().begin());
      *this = std::move(own);
    }
    return unshared();
  }
  /// \pre the memory is not shared, as after `writable`
  [[nodiscard]] std::span<T> unshared() { return {static_cast<T*>(memory_.get()), n_}; }

 private:
  std::shared_ptr<void> memory_{};
  std::size_t n_{};
};

}  // namespace forkrun
