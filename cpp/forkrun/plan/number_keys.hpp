#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace forkrun {

/// Distinct keys, numbered in order of appearance.
struct NumberedKeys {
  std::vector<std::int64_t> first;   ///< by number: the first place of its key
  std::vector<std::int64_t> number;  ///< by place
};

[[nodiscard]] NumberedKeys number_keys(std::span<const std::uint64_t> keys);

}  // namespace forkrun
