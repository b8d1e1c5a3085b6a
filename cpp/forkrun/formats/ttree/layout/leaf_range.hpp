#pragma once

#include <cstddef>
#include <cstdint>

class TLeaf;

namespace forkrun::root_io {

/// Smallest and largest value that a leaf of counts has had: readers make room for as many values.
struct LeafRange {
  std::int64_t least{};
  std::int64_t largest{};
  bool operator==(const LeafRange&) const = default;
};

/// The largest count that a leaf with values of so many bytes can tell: what is unsigned is kept as
/// if it were signed.
[[nodiscard]] std::int64_t largest_number(std::size_t n_bytes);

/// Widens the range of a leaf by this one; nothing if leaves of its class have none.
void include_range(TLeaf& leaf, const LeafRange& range);

}  // namespace forkrun::root_io
