#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forkrun::root_io {

/// Smallest and largest value that a leaf of counts has had: readers make room for as many values.
struct LeafRange {
  std::int64_t least{};
  std::int64_t largest{};
  bool operator==(const LeafRange&) const = default;
};

/// The largest count that a leaf with values of so many bytes can tell: unsigned values are kept as
/// if they were signed.
[[nodiscard]] constexpr std::int64_t largest_number(std::size_t n_bytes) {
  return static_cast<std::int64_t>((std::uint64_t{1} << (8 * n_bytes - 1)) - 1);
}

/// Class of leaves of texts: their number of values is the length of the longest one.
inline constexpr std::string_view text_leaf = "TLeafC";

/// A leaf of numbers or characters, from the record of its tree.
struct LeafMembers {
  std::string type{};  ///< its class
  std::string name{};
  std::string title{};
  std::int32_t n_values = 1;  ///< per entry, or per count
  std::int32_t value_size{};
  std::int32_t offset{};
  bool counts_others{};
  bool is_unsigned{};
  std::optional<std::size_t> counter{};  ///< number, in the tree, of the leaf that counts
  std::optional<LeafRange> range{};      ///< of integers
  std::vector<std::byte> limits{};       ///< of other values, as they are on file
  bool operator==(const LeafMembers&) const = default;
};

/// A branch from the record, without entries and baskets.
struct BranchMembers {
  std::string name{};
  std::string title{};
  std::int16_t fill_color{};
  std::int16_t fill_style = 1001;
  std::int32_t compression{};
  std::int32_t basket_size = 32000;
  std::int32_t offsets_length{};  ///< 0: all entries have one size
  std::uint8_t features{};
  std::int32_t offset{};
  std::int32_t split_level{};
  std::vector<LeafMembers> leaves{};
  bool operator==(const BranchMembers&) const = default;
};

/// A tree of plain branches from its record: all that its entries do not change. Other members are
/// as ROOT makes them in a new tree.
struct TreeMembers {
  std::string name{};
  std::string title{};
  std::vector<std::byte> attributes{};  ///< of drawing, as they are on file; empty: those of ROOT
  double weight = 1;
  std::int32_t timer_interval{};
  std::int32_t scan_field = 25;
  std::int32_t update{};
  std::int32_t offsets_length = 1000;
  std::int64_t most_entries = 1'000'000'000'000;
  std::int64_t most_entries_in_loop = 1'000'000'000'000;
  std::int64_t most_virtual_size{};
  std::int64_t auto_save = -300'000'000;
  std::int64_t auto_flush = -30'000'000;
  std::int64_t estimate = 1'000'000;
  std::uint8_t features{};
  std::vector<BranchMembers> branches{};
};

}  // namespace forkrun::root_io
