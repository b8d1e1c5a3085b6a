#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include <sys/mman.h>

#include <forkrun/pages/page_table.hpp>

namespace forkrun::pages {

/// Zeros in memory that a process shares with the children it forks, visible to all.
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

/// Finds pages that a child shared with its parent at the fork and that became private later, with
/// the time. Made in the parent, just before it forks; a child reads its own page table, and notes
/// its findings in memory that the parent sees.
///
/// A page is the child's own copy when it is anonymous and no other process maps it. This holds
/// only while another process keeps the pages as they were at the fork, and writes to none: fork
/// one that sleeps as long as the children live.
class PageWatch {
 public:
  /// Number of a point in time: any number of the caller's from 1 to `last_border`.
  using Border = std::uint16_t;
  static constexpr Border last_border = 0xFFFE;

  /// Takes the present pages of this process.
  /// \throws std::system_error where the kernel does not show them
  explicit PageWatch(std::size_t n_children);

  /// Notes `border` for pages that became private since the last sample. In the child. Does nothing
  /// while another of its threads does. Allocates nothing.
  void sample(std::size_t child, Border border);

  struct Private {
    std::uint64_t page{};
    Border border{};
  };
  /// Pages found private to a child, in the order of addresses.
  [[nodiscard]] std::vector<Private> found(std::size_t child) const;
  /// Numbers of all pages at the fork, in order.
  [[nodiscard]] std::vector<std::uint64_t> pages_at_fork() const;

 private:
  /// Consecutive pages and their place in the arrays.
  struct Range {
    std::uint64_t first_page{};
    std::uint64_t last_page{};
    std::size_t place{};
  };
  /// Marks a page that the child has freed: its content now is unrelated.
  static constexpr Border gone = 0xFFFF;

  template <typename Visit>
  void for_each_page(const Visit& visit) const;
  void note(std::size_t child, Border border, std::size_t place, const PageEntry& page);

  std::vector<Range> ranges_;
  std::size_t n_places_{};
  std::unique_ptr<SharedArray<std::uint8_t>> at_fork_;
  std::unique_ptr<SharedArray<Border>> borders_;  ///< by child and place; 0: shared
  std::optional<PageTable> table_;  ///< the child's own: the parent's file shows the parent
  std::mutex mutex_;
};

}  // namespace forkrun::pages
