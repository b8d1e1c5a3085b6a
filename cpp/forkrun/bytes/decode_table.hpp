#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// Table of the meaning of the next bits of a compressed stream; longer codes lead to a table
/// within the table.
///
/// An entry: bits 0 to 7, number of bits including extra bits after the code; bits 8 to 11, bits of
/// the code alone; the value from bit 16 on; and flags.
namespace decode_entry {
constexpr std::uint32_t is_literal = 1U << 31U;
constexpr std::uint32_t is_other = 1U << 15U;  ///< end of block or inner table
constexpr std::uint32_t leads_on = 1U << 14U;  ///< value: begin of the inner table
constexpr std::uint32_t ends_block = 1U << 13U;
constexpr unsigned at_value = 16;
constexpr unsigned at_code_bits = 8;
}  // namespace decode_entry

constexpr unsigned longest_code = 15;

/// Fills a table for codes of these lengths, by symbol; 0: a symbol has none. `meanings`: entries
/// of symbols without the length of their codes. Returns whether the codes are complete: each
/// sequence of bits begins with exactly one of them.
bool fill_decode_table(std::span<const std::uint8_t> lengths,
                       std::span<const std::uint32_t> meanings, unsigned n_table_bits,
                       std::span<std::uint32_t> table);

}  // namespace forkrun
