#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace forkrun::root_io {

/// A leaf of a branch, as far as it matters for finding counts in entries.
struct LeafInEntry {
  std::size_t value_size{};
  std::size_t n_values = 1;
  bool is_fixed{};  ///< the same number of values in all entries
  bool counts{};    ///< the values of others
  bool is_unsigned{};
};

/// Where entries have the number of values, or objects, of others.
struct CountPlace {
  std::size_t leaf{};               ///< of its branch
  std::optional<std::size_t> at{};  ///< byte of the entry; none: it differs between entries
  std::size_t value_size{};
  bool is_unsigned{};
};

/// Those of a branch with these leaves, which follow each other in each entry.
[[nodiscard]] std::vector<CountPlace> count_places(std::span<const LeafInEntry> leaves);

}  // namespace forkrun::root_io
