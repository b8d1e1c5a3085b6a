#include <forkrun/bytes/decode_table.hpp>

#include <algorithm>
#include <bit>

namespace forkrun {

namespace {

using namespace decode_entry;
constexpr std::size_t most_symbols = 288;

/// Symbols in the order of their codes: shorter ones first, then by number.
struct SortedCodes {
  std::array<std::uint16_t, longest_code + 1> n_of_length{};
  std::array<std::uint16_t, most_symbols> symbols{};

  explicit SortedCodes(std::span<const std::uint8_t> lengths) {
    for (const auto length : lengths) {
      ++n_of_length.at(length);
    }
    n_of_length[0] = 0;
    std::array<std::uint16_t, longest_code + 2> place{};
    for (unsigned length = 1; length <= longest_code; ++length) {
      place.at(length + 1) = static_cast<std::uint16_t>(place.at(length) + n_of_length.at(length));
    }
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] != 0) {
        symbols.at(place.at(lengths[symbol])++) = static_cast<std::uint16_t>(symbol);
      }
    }
  }

  [[nodiscard]] bool are_complete() const {
    std::uint32_t used = 0;
    for (unsigned length = 1; length <= longest_code; ++length) {
      used += std::uint32_t{n_of_length.at(length)} << (longest_code - length);
    }
    return used == 1U << longest_code;
  }
};

/// Codes in order, with their first bit as the lowest, as in a stream.
class Code {
 public:
  [[nodiscard]] std::uint32_t bits() const { return bits_; }
  /// Code of the next symbol, if codes have this length. False after the last one.
  bool advance(unsigned length) {
    const auto all = (1U << length) - 1;
    if (bits_ == all) {
      return false;
    }
    const auto highest_zero = 1U << (std::bit_width(bits_ ^ all) - 1U);
    bits_ = (bits_ & (highest_zero - 1)) | highest_zero;
    return true;
  }

 private:
  std::uint32_t bits_ = 0;
};

std::uint32_t entry(std::uint32_t meaning, unsigned length) {
  return meaning + (length << at_code_bits) + length;
}

/// Doubles the filled part, from codes of `from` bits to codes of `to`.
void repeat(std::span<std::uint32_t> table, unsigned from, unsigned to) {
  for (; from < to; ++from) {
    const auto n = std::size_t{1} << from;
    std::copy_n(table.begin(), n, table.begin() + static_cast<std::ptrdiff_t>(n));
  }
}

/// Tables after the first one, for longer codes.
class InnerTables {
 public:
  InnerTables(const SortedCodes& codes, unsigned n_table_bits, std::span<std::uint32_t> table)
      : codes_{codes}, n_outer_{n_table_bits}, table_{table}, end_{std::size_t{1} << n_outer_} {}

  void add(std::uint32_t code, unsigned length, std::uint32_t meaning, std::size_t n_left) {
    const auto outer = code & ((1U << n_outer_) - 1);
    if (outer != outer_) {
      begin(outer, length, n_left);
    }
    const auto step = std::size_t{1} << (length - n_outer_);
    for (auto at = begin_ + (code >> n_outer_); at < end_; at += step) {
      table_[at] = entry(meaning, length - n_outer_);
    }
  }

 private:
  /// `n_left`: codes of this length that are not in a table yet.
  void begin(std::uint32_t outer, unsigned length, std::size_t n_left) {
    outer_ = outer;
    begin_ = end_;
    unsigned n_bits = length - n_outer_;
    for (auto used = n_left; used < std::size_t{1} << n_bits && n_outer_ + n_bits < longest_code;) {
      ++n_bits;
      used = 2 * used + codes_.n_of_length.at(n_outer_ + n_bits);
    }
    end_ = begin_ + (std::size_t{1} << n_bits);
    table_[outer] = static_cast<std::uint32_t>(begin_) << at_value | is_other | leads_on |
                    n_bits << at_code_bits | n_outer_;
  }

  const SortedCodes& codes_;
  unsigned n_outer_;
  std::span<std::uint32_t> table_;
  std::uint32_t outer_ = ~0U;
  std::size_t begin_{}, end_;
};

}  // namespace

bool fill_decode_table(std::span<const std::uint8_t> lengths,
                       std::span<const std::uint32_t> meanings, unsigned n_table_bits,
                       std::span<std::uint32_t> table) {
  const SortedCodes codes{lengths};
  if (!codes.are_complete()) {
    return false;
  }
  Code code;
  InnerTables inner{codes, n_table_bits, table};
  const auto* symbol = codes.symbols.data();
  unsigned n_filled = 0;
  for (unsigned length = 1; length <= longest_code; ++length) {
    const auto n_codes = codes.n_of_length.at(length);
    if (n_codes > 0 && length <= n_table_bits) {
      repeat(table, n_filled, length);
      n_filled = length;
    } else if (n_codes > 0) {
      repeat(table, n_filled, n_table_bits);
      n_filled = n_table_bits;
    }
    for (std::size_t n_left = n_codes; n_left > 0; --n_left) {
      const auto meaning = meanings[*symbol++];
      if (length <= n_table_bits) {
        table[code.bits()] = entry(meaning, length);
      } else {
        inner.add(code.bits(), length, meaning, n_left);
      }
      static_cast<void>(code.advance(length));
    }
  }
  repeat(table, n_filled, n_table_bits);
  return true;
}

}  // namespace forkrun
