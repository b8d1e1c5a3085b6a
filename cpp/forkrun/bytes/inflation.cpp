#include <forkrun/bytes/inflation.hpp>

#include <algorithm>
#include <span>

namespace forkrun::inflating {

namespace {

using namespace decode_entry;

constexpr unsigned n_length_code_bits = 7;
constexpr std::size_t n_symbols = 288, n_distances = 32, n_length_codes = 19;

/// Lengths of matches, or their distances: the smallest for each symbol, and the number of extra
/// bits after the code. The last two distances do not exist.
template <std::size_t n>
constexpr std::array<std::uint32_t, n> ranges(std::uint32_t first, unsigned n_per_step) {
  std::array<std::uint32_t, n> meanings{};
  for (std::uint32_t i = 0, at = first; i < n; ++i) {
    const auto n_bits = i < 2 * n_per_step ? 0 : i / n_per_step - 1;
    meanings[i] = at << at_value | n_bits;
    at += 1U << n_bits;
  }
  return meanings;
}

constexpr auto symbol_meanings = [] {
  constexpr std::size_t n_literals = 256, first_length = 257, n_lengths = 29, longest_match = 258;
  std::array<std::uint32_t, n_symbols> meanings{};
  for (std::uint32_t value = 0; value < n_literals; ++value) {
    meanings[value] = is_literal | value << at_value;
  }
  meanings[n_literals] = is_other | ends_block;
  const auto lengths = ranges<n_lengths>(3, 4);
  std::copy(lengths.begin(), lengths.end(), meanings.begin() + first_length);
  meanings[first_length + n_lengths - 1] = longest_match << at_value;
  return meanings;  // the last two are invalid: matches of length 0, which are refused
}();
constexpr auto distance_meanings = [] {
  auto meanings = ranges<n_distances>(1, 2);
  meanings[n_distances - 2] = meanings[n_distances - 1] = 0;
  return meanings;
}();

/// Near the ends of a stream, and in heads of blocks: nothing beyond the ends is read or written.
class Careful {
 public:
  explicit Careful(Inflation& of) : of_{of}, place_{of.place} {}

  void fill() {
    if (of_.from_end - place_.from >= 8) {
      return place_.fill();
    }
    for (; place_.n_bits < 56U; place_.n_bits += 8) {
      if (place_.from < of_.from_end) {
        place_.bits |= std::to_integer<std::uint64_t>(*place_.from++) << place_.n_bits;
      } else {
        ++of_.n_missing;
      }
    }
  }
  std::size_t take(unsigned n) {
    fill();
    const auto value = lowest(place_.bits, n);
    drop(n);
    return value;
  }
  /// The entry of the next symbol, and the bits from its code on, or from the rest of it.
  std::uint32_t take_entry(std::span<const std::uint32_t> table, unsigned n_bits,
                           std::uint64_t& before) {
    auto entry = table[lowest(place_.bits, n_bits)];
    if ((entry & leads_on) != 0) {
      drop(n_bits);
      entry = table[(entry >> at_value) + lowest(place_.bits, (entry >> at_code_bits) & 0x3fU)];
    }
    before = place_.bits;
    drop(entry);
    return entry;
  }
  /// Skips to the next whole byte. Returns whether the stream has so many bits.
  bool align() {
    const auto n_back = place_.n_bits / 8;
    if (of_.n_missing > n_back) {
      return false;
    }
    place_.from -= n_back - of_.n_missing;
    place_.bits = place_.n_bits = of_.n_missing = 0;
    return true;
  }

 private:
  void drop(std::uint32_t entry) {
    place_.drop(entry);
    place_.n_bits &= 0xffU;
  }

  Inflation& of_;
  Place& place_;
};

bool read_stored(Inflation& of) {
  Careful careful{of};
  if (!careful.align() || of.from_end - of.place.from < 4) {
    return false;
  }
  const auto n = static_cast<std::ptrdiff_t>(careful.take(16));
  const auto inverse = static_cast<std::ptrdiff_t>(careful.take(16));
  if (n + inverse != 0xffff || !careful.align() || of.from_end - of.place.from < n ||
      of.end - of.place.to < n) {
    return false;
  }
  std::copy_n(of.place.from, n, of.place.to);
  of.place.from += n;
  of.place.to += n;
  of.end_block();
  return true;
}

bool fill_tables(std::span<const std::uint8_t> lengths, std::size_t n_of_symbols,
                 CodeTables& codes) {
  return fill_decode_table(lengths.first(n_of_symbols), symbol_meanings, n_symbol_bits,
                           codes.symbols) &&
         fill_decode_table(lengths.subspan(n_of_symbols), distance_meanings, n_distance_bits,
                           codes.distances);
}

/// Made once: most small baskets have them, and making them takes longer than reading such a one.
const CodeTables& fixed_codes() {
  static const CodeTables codes = [] {
    std::array<std::uint8_t, n_symbols + n_distances> lengths{};
    std::fill_n(lengths.begin(), 144, std::uint8_t{8});
    std::fill_n(lengths.begin() + 144, 112, std::uint8_t{9});
    std::fill_n(lengths.begin() + 256, 24, std::uint8_t{7});
    std::fill_n(lengths.begin() + 280, 8, std::uint8_t{8});
    std::fill_n(lengths.begin() + n_symbols, n_distances, std::uint8_t{5});
    CodeTables made;
    static_cast<void>(fill_tables(lengths, n_symbols, made));
    return made;
  }();
  return codes;
}

using LengthTable = std::array<std::uint32_t, 1U << n_length_code_bits>;

/// Codes for lengths of codes.
bool read_length_codes(Careful& careful, std::size_t n, LengthTable& table) {
  constexpr std::array<std::uint8_t, n_length_codes> order{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
  std::array<std::uint8_t, n_length_codes> lengths{};
  for (std::size_t i = 0; i < n; ++i) {
    lengths.at(order.at(i)) = static_cast<std::uint8_t>(careful.take(3));
  }
  std::array<std::uint32_t, n_length_codes> meanings{};
  for (std::uint32_t i = 0; i < n_length_codes; ++i) {
    meanings.at(i) = i << at_value;
  }
  return fill_decode_table(lengths, meanings, n_length_code_bits, table);
}

/// Whether lengths of codes fill `lengths` to its end.
bool read_lengths(Careful& careful, const LengthTable& table, std::span<std::uint8_t> lengths) {
  constexpr std::uint32_t again = 16, few_zeros = 17;
  for (std::size_t i = 0; i < lengths.size();) {
    std::uint64_t before = 0;
    careful.fill();
    const auto length = careful.take_entry(table, n_length_code_bits, before) >> at_value;
    if (length < again) {
      lengths[i++] = static_cast<std::uint8_t>(length);
      continue;
    }
    if (length == again && i == 0) {
      return false;
    }
    const auto value = length == again ? lengths[i - 1] : std::uint8_t{0};
    const auto n = length == again       ? 3 + careful.take(2)
                   : length == few_zeros ? 3 + careful.take(3)
                                         : 11 + careful.take(7);
    if (n > lengths.size() - i) {
      return false;
    }
    std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), n, value);
    i += n;
  }
  return true;
}

bool read_codes(Inflation& of) {
  Careful careful{of};
  const auto n_of_symbols = 257 + careful.take(5);
  const auto n_of_distances = 1 + careful.take(5);
  const auto n_of_lengths = 4 + careful.take(4);
  LengthTable table{};
  std::array<std::uint8_t, n_symbols + n_distances> memory{};
  if (n_of_symbols > n_symbols || !read_length_codes(careful, n_of_lengths, table)) {
    return false;
  }
  of.codes = &of.own_codes;
  const auto lengths = std::span{memory}.first(n_of_symbols + n_of_distances);
  return read_lengths(careful, table, lengths) && fill_tables(lengths, n_of_symbols, of.own_codes);
}

}  // namespace

bool read_symbols(Inflation& of) {
  Careful careful{of};
  auto& to = of.place.to;
  for (;;) {
    std::uint64_t before = 0;
    careful.fill();
    const auto entry = careful.take_entry(of.codes->symbols, n_symbol_bits, before);
    if ((entry & is_literal) != 0) {
      if (to == of.end) {
        return false;
      }
      *to++ = static_cast<std::byte>(entry >> at_value);
      continue;
    }
    if ((entry & is_other) != 0) {
      of.end_block();
      return of.n_missing <= of.place.n_bits / 8;
    }
    const auto length = value_of(entry, before);
    careful.fill();
    const auto of_distance = careful.take_entry(of.codes->distances, n_distance_bits, before);
    const auto distance = value_of(of_distance, before);
    if (length == 0 || length > static_cast<std::size_t>(of.end - to) || distance == 0 ||
        distance > static_cast<std::size_t>(to - of.begin)) {
      return false;
    }
    for (const auto* const last = to + length; to < last; ++to) {
      *to = *(to - distance);
    }
  }
}

bool read_head_of_block(Inflation& of) {
  Careful careful{of};
  of.head_of_block = of.n_bits_before();
  of.is_last_block = careful.take(1) == 1;
  const auto type = careful.take(2);
  if (type == 0) {
    return read_stored(of);
  }
  of.at = At::symbols;
  if (type == 1) {
    of.codes = &fixed_codes();
    return true;
  }
  return type == 2 && read_codes(of);
}

bool align(Inflation& of) { return Careful{of}.align(); }

}  // namespace forkrun::inflating
