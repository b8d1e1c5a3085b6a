#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// The encoding of new columns: the one that ROOT chooses, which packs best.
[[nodiscard]] StoredColumn new_column(ElementType element, std::uint32_t field);
/// That of where lists end.
[[nodiscard]] StoredColumn new_ends(std::uint32_t field);

/// What values are that are written as they were stored: of reals of fewer bits these bits, of
/// places in lists int64, else the values themselves.
[[nodiscard]] ElementType stored_element(const StoredColumn& column);

/// Decodes the values of a page to `stored_element`s: nothing is rounded.
void decode_stored(const StoredColumn& column, std::span<const std::byte> packed,
                   std::size_t n_values, std::byte* into);

/// Packs `stored_element`s to the bytes of a page, before it is compressed: `packed_bytes` of them.
void encode_page(const StoredColumn& column, std::span<const std::byte> values,
                 std::size_t n_values, std::span<std::byte> into);

}  // namespace forkrun::rntuple
