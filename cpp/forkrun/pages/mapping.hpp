#pragma once

#include <sys/types.h>

#include <cstdint>
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

}  // namespace forkrun::pages
