#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace forkrun {

/// Number of a thread that fills histograms, from 1; numbers of ended threads are reused, so
/// numbers stay below the number of threads. All threads beyond `most_threads` have the next
/// number.
[[nodiscard]] std::size_t claim_thread_number();
inline constexpr std::size_t most_threads = 512;

// Not of the model initial-exec, which is faster to read: other libraries may have used up its room
// when this one is loaded.
extern constinit thread_local std::size_t claimed_thread_number;  // 0: none yet

[[nodiscard]] inline std::size_t thread_number() {
  const std::size_t number = claimed_thread_number;
  return number != 0 ? number : claim_thread_number();
}

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
