#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace forkrun::pages {

/// A line of /proc/PID/maps: addresses [start, end).
struct Mapping {
  std::uint64_t start{};
  std::uint64_t end{};
  bool is_accessible{};  ///< readable or writable: others are reserved addresses
  bool is_private{};     ///< written pages are copied; else all processes see them
  std::string path;      ///< file, "[heap]", "[stack]"; empty: anonymous
};

/// In the order of addresses. `pid` 0: this process.
/// \throws std::system_error if the process has ended or may not be read
std::vector<Mapping> read_mappings(pid_t pid);

/// "/proc/PID/NAME", with "self" for 0.
std::string proc_file(pid_t pid, const char* name);

/// Bytes of a page.
[[nodiscard]] std::uint64_t page_size() noexcept;

/// Entry of /proc/PID/pagemap for a page (Linux 4.2; Documentation/admin-guide/mm/pagemap.rst).
/// Frame numbers are hidden from users without privileges; these bits are not.
struct PageEntry {
  std::uint64_t bits{};

  [[nodiscard]] bool is_present() const noexcept { return (bits >> 63U & 1U) != 0; }
  /// The page belongs to a file, or to shared memory: a fork does not copy it.
  [[nodiscard]] bool is_file() const noexcept { return (bits >> 61U & 1U) != 0; }
  /// No other process maps it.
  [[nodiscard]] bool is_exclusive() const noexcept { return (bits >> 56U & 1U) != 0; }
};

/// The page table of a process. The kernel holds the process's mmap lock for 512 pages at a time,
/// so that reading stops no process for long, even one with much memory.
class PageTable {
 public:
  static constexpr std::size_t n_pages_at_a_time = 512;

  /// `pid` 0: this process, also in a fork of the process that opened another table.
  /// \throws std::system_error if the process has ended or may not be read
  explicit PageTable(pid_t pid);
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// Entries of consecutive pages from number `first_page` (address / page_size()) on; 0 where the
  /// process has no memory. False if it cannot be read (the process has ended).
  [[nodiscard]] bool read(std::uint64_t first_page, std::span<PageEntry> entries) const noexcept;

 private:
  int file_;
};

/// Calls `visit(first_page, entries)` for pages [first_page, last_page), at most n_pages_at_a_time
/// at a time and none across a multiple of it. Allocates nothing. False: ended meanwhile.
template <typename Visit>
bool for_each_piece(const PageTable& table, std::uint64_t first_page, std::uint64_t last_page,
                    const Visit& visit) {
  PageEntry entries[PageTable::n_pages_at_a_time];
  while (first_page < last_page) {
    const auto n_left = PageTable::n_pages_at_a_time - first_page % PageTable::n_pages_at_a_time;
    const auto n = last_page - first_page < n_left ? last_page - first_page : n_left;
    const std::span piece{entries, n};
    if (!table.read(first_page, piece)) {
      return false;
    }
    visit(first_page, std::span<const PageEntry>{piece});
    first_page += n;
  }
  return true;
}

/// Sizes [bytes] of a process's memory, by its page table. Swapped pages do not count.
struct PageCounts {
  std::uint64_t resident{};
  std::uint64_t resident_private{};   ///< no other process maps it
  std::uint64_t anonymous{};          ///< part of `resident`: no page of a file
  std::uint64_t anonymous_private{};  ///< part of `anonymous`
  std::int64_t
      longest_read_ns{};  ///< CPU time of one piece: the time for which the process was stopped
};

/// Reads the whole page table of a process in pieces, each of which holds its mmap lock for some
/// tens of microseconds. `pid` 0: this process.
/// \throws std::system_error if the process has ended or may not be read
PageCounts count_pages(pid_t pid);

}  // namespace forkrun::pages
