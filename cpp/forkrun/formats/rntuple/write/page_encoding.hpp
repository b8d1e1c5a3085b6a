#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/rntuple/page_values.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// The encoding of new columns: the one that ROOT chooses, which packs best.
[[nodiscard]] StoredColumn new_column(ElementType element, std::uint32_t field);
/// The encoding of the ends of lists.
[[nodiscard]] StoredColumn new_ends(std::uint32_t field);

/// Packs `stored_element`s to the bytes of a page, before it is compressed: `packed_bytes` of them.
void encode_page(const StoredColumn& column, std::span<const std::byte> values,
                 std::size_t n_values, std::span<std::byte> into);

}  // namespace forkrun::rntuple
