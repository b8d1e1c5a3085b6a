#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// Bytes of values in a page, uncompressed.
[[nodiscard]] std::size_t packed_bytes(const StoredColumn& column, std::uint64_t n_values);

/// Type in which values are read, if no other is wanted.
[[nodiscard]] ElementType element_of(Encoding encoding);

/// Whether values can be read as these: real numbers of 32 bits and fewer also as float64, numbers
/// of places in lists as int64 alone.
[[nodiscard]] bool can_be_read_as(const StoredColumn& column, ElementType element);

/// Values [first, last) of a page.
struct PlacesInPage {
  std::size_t first{};
  std::size_t last{};
};

/// A page, uncompressed, and which of its values are wanted.
struct PackedPage {
  std::span<const std::byte> bytes;
  std::size_t n_values{};
  std::span<const PlacesInPage> wanted;
};

/// Whether each value of a page can be decoded by itself; where lists end, none can.
[[nodiscard]] bool are_apart(Encoding encoding);

/// Decodes the values of a page, whose uncompressed bytes are `packed`, to `into`, which has room
/// for n of them.
void decode_page(const StoredColumn& column, ElementType element, std::span<const std::byte> packed,
                 std::size_t n_values, std::byte* into);
/// Decodes the wanted values, one after the other: they are apart.
void decode_page(const StoredColumn& column, ElementType element, const PackedPage& page,
                 std::byte* into);

/// Type of values that are written as they were stored: the bits of reals of fewer bits, int64 for
/// places in lists, else the values themselves.
[[nodiscard]] ElementType stored_element(const StoredColumn& column);

/// Decodes the values of a page to `stored_element`s: nothing is rounded.
void decode_stored(const StoredColumn& column, std::span<const std::byte> packed,
                   std::size_t n_values, std::byte* into);
/// The same of those that are wanted, which are apart.
void decode_stored(const StoredColumn& column, const PackedPage& page, std::byte* into);

}  // namespace forkrun::rntuple
