#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
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

/// Finds pages that a child shared with its parent at the fork and that became private later, and
/// memory that is new since the fork, with the time. Made in the parent, just before it forks; a
/// child reads its own page table, and notes its findings in memory that the parent sees.
///
/// A page is private when it is anonymous and no other process maps it: the child's own copy, or
/// the page of the fork where all others, parent included, have copied it.
class PageWatch {
 public:
  /// Number of a point in time: any number of the caller's from 1 to `last_border`.
  using Border = std::uint16_t;
  static constexpr Border last_border = 0xFFFE;

  /// Takes the present pages of this process. `max_share`: largest part of a child's CPU time in
  /// which it reads its page table, after the first samples.
  /// \throws std::system_error where the kernel does not show them
  explicit PageWatch(std::size_t n_children, double max_share = 1);

  /// Notes `border` for memory that is new, and for pages that became private, since the last
  /// sample. In the child. Leaves the pages to a later sample if they cost too much time, unless
  /// `is_needed`. Does nothing while another of its threads does.
  void sample(std::size_t child, Border border, bool is_needed = false);

  struct Private {
    std::uint64_t page{};
    Border border{};
  };
  /// Pages found private to a child, in the order of addresses.
  [[nodiscard]] std::vector<Private> found(std::size_t child) const;
  /// Anonymous memory of a child that is new since its first sample [bytes]; negative where more
  /// was freed.
  [[nodiscard]] std::map<Border, std::int64_t> grown(std::size_t child) const;
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
  void note_growth(std::size_t child, Border border);
  void note_pages(std::size_t child, Border border);

  std::vector<Range> ranges_;
  double max_share_;
  std::size_t n_places_{};
  std::unique_ptr<SharedArray<std::uint8_t>> at_fork_;
  std::unique_ptr<SharedArray<Border>> borders_;      ///< by child and place; 0: shared
  std::unique_ptr<SharedArray<std::int64_t>> grown_;  ///< [bytes] by child and border
  std::optional<PageTable> table_;  ///< the child's own: the parent's file shows the parent
  int statm_{-1};                   ///< the child's own, as long as it lives
  std::int64_t anonymous_bytes_{-1};
  double start_cpu_s_{};
  double grown_s_{};
  double spent_s_{};
  std::mutex mutex_;
};

}  // namespace forkrun::pages
