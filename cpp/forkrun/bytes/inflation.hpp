#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <forkrun/bytes/decode_table.hpp>
#include <forkrun/bytes/instructions.hpp>

namespace forkrun::inflating {

constexpr unsigned n_symbol_bits = 11, n_distance_bits = 8;
/// Size with all inner tables that complete codes can need.
constexpr std::size_t symbol_table_size = 2342, distance_table_size = 402;

FORKRUN_INLINE std::uint64_t little_endian(const std::byte* from) {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  if constexpr (std::endian::native == std::endian::big) {
    value = __builtin_bswap64(value);
  }
  return value;
}

FORKRUN_INLINE std::uint64_t lowest(std::uint64_t bits, unsigned n) {
  return bits & ((std::uint64_t{1} << n) - 1);
}

/// Value of a match's length or distance: that of its symbol, and the bits after the code.
FORKRUN_INLINE std::size_t value_of(std::uint32_t entry, std::uint64_t bits) {
  const auto added = lowest(bits, entry & 0x3fU) >> ((entry >> decode_entry::at_code_bits) & 0xfU);
  return (entry >> decode_entry::at_value) + added;
}

/// The next bits of a stream, and the place of the next inflated byte.
struct Place {
  const std::byte* from;
  std::byte* to;
  std::uint64_t bits = 0;
  std::uint64_t n_bits = 0;  ///< the low byte of it

  /// At least 56 bits; reads eight bytes.
  FORKRUN_INLINE void fill() {
    bits |= little_endian(from) << (n_bits & 0x3fU);
    from += 7 - ((n_bits >> 3U) & 7U);
    n_bits |= 56U;
  }
  FORKRUN_INLINE void drop(std::uint32_t entry) {
    bits >>= entry & 0x3fU;
    n_bits -= entry;
  }
};

enum class At : std::uint8_t { head_of_block, symbols, end, failure };

/// Meaning of the codes of a block.
struct CodeTables {
  std::array<std::uint32_t, symbol_table_size> symbols{};
  std::array<std::uint32_t, distance_table_size> distances{};
};

/// A stream that is being inflated, and the tables of its block.
struct Inflation {
  Place place{};
  const std::byte* from_end{};
  std::byte* begin{};
  std::byte* end{};
  std::size_t n_missing{};  ///< bytes beyond the end, taken to be zero
  const std::byte* from_begin{};
  std::uint64_t head_of_block{};  ///< bits before the head of the latest block
  bool is_last_block{};
  At at{};
  const CodeTables* codes{};  ///< of the present block: its own, or the fixed ones
  CodeTables own_codes{};

  [[nodiscard]] bool runs() const { return at == At::head_of_block || at == At::symbols; }
  /// Begins fast steps at this place, and reads ahead of the first.
  [[nodiscard]] FORKRUN_INLINE bool has_room(const Place& from) const {
    constexpr std::ptrdiff_t most_read = 32, most_written = 320;
    return from_end - from.from >= most_read && end - from.to >= most_written;
  }
  /// Bits of the stream consumed so far.
  [[nodiscard]] std::uint64_t n_bits_before() const {
    const auto n_taken = static_cast<std::uint64_t>(place.from - from_begin) + n_missing;
    return n_taken * 8 - place.n_bits;
  }
  void end_block() { at = is_last_block ? At::end : At::head_of_block; }
};

/// Reads the head of the next block, and its tables. False on an error.
[[nodiscard]] bool read_head_of_block(Inflation& of);
/// Inflates symbols up to the end of the block. False on an error.
[[nodiscard]] bool read_symbols(Inflation& of);
/// Skips to the next whole byte. Returns whether the stream has that many.
[[nodiscard]] bool align(Inflation& of);

}  // namespace forkrun::inflating
