#pragma once

#include <algorithm>
#include <cstddef>

namespace forkrun {

/// Uncompressed bytes of a cluster that is made anew: enough for each branch, and no more than a
/// process has room for.
[[nodiscard]] inline double wanted_cluster_bytes(std::size_t n_branches) {
  constexpr double cluster_bytes = 32 << 20;
  constexpr double branch_bytes = 64 << 10;
  return std::max(cluster_bytes, branch_bytes * static_cast<double>(n_branches));
}

}  // namespace forkrun
