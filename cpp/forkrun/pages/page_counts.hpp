#pragma once

#include <sys/types.h>

#include <cstdint>

namespace forkrun::pages {

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
