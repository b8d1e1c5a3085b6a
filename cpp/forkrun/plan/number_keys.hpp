#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace forkrun {

/// Different keys, numbered in the order in which they first appear.
struct NumberedKeys {
  std::vector<std::int64_t> first;   ///< of each number: the first place of its key
  std::vector<std::int64_t> number;  ///< of each place
};

[[nodiscard]] NumberedKeys number_keys(std::span<const std::uint64_t> keys);

}  // namespace forkrun
