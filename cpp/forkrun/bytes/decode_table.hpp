#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace forkrun {

/// What the next bits of a compressed stream mean, looked up by as many of them as are looked at
/// together; longer codes lead on to a table within the table.
///
/// An entry: bits 0 to 7, how many bits it takes, with those behind the code that belong to it;
/// bits 8 to 11, those of the code alone; the value from bit 16 on; and flags.
namespace decode_entry {
constexpr std::uint32_t is_literal = 1U << 31U;
constexpr std::uint32_t is_other = 1U << 15U;  ///< one of these two
constexpr std::uint32_t leads_on = 1U << 14U;  ///< value: where the inner table begins
constexpr std::uint32_t ends_block = 1U << 13U;
constexpr unsigned at_value = 16;
constexpr unsigned at_code_bits = 8;
}  // namespace decode_entry

constexpr unsigned longest_code = 15;

/// Fills a table for codes of these lengths, by symbol; 0: a symbol has none. `meanings`: entries
/// of symbols without the length of their codes. Whether the codes are complete: each sequence of
/// bits begins with one of them, and only one.
bool fill_decode_table(std::span<const std::uint8_t> lengths,
                       std::span<const std::uint32_t> meanings, unsigned n_table_bits,
                       std::span<std::uint32_t> table);

}  // namespace forkrun
