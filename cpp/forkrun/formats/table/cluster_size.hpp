#pragma once

#include <algorithm>
#include <cstddef>

namespace forkrun {

/// Uncompressed bytes of a new cluster: enough for each branch, within a process's memory.
[[nodiscard]] inline double wanted_cluster_bytes(std::size_t n_branches) {
  constexpr double cluster_bytes = 32 << 20;
  constexpr double branch_bytes = 64 << 10;
  return std::max(cluster_bytes, branch_bytes * static_cast<double>(n_branches));
}

}  // namespace forkrun
