#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>

namespace forkrun::root_io {

/// Values of entries that are objects, as they are taken apart: a text, or a vector of texts or of
/// vectors of numbers.
class NestedValues {
 public:
  /// Begins anew, with a column of this type.
  void begin(ColumnType type, std::size_t n_events);
  /// The next entry: `header_bytes`, which a vector has, and its content. \throws Error if the
  /// bytes are none
  void add(std::span<const std::byte> entry, std::size_t header_bytes);
  /// Fills a column of `type` with all that was added.
  void fill(Column& into) const;

 private:
  void add_text(std::span<const std::byte>& rest);
  void add_numbers(std::span<const std::byte>& rest);

  ColumnType type_{};
  std::vector<std::int64_t> ends_;   ///< of each event: of its texts or lists, or of its text
  std::vector<std::int64_t> inner_;  ///< ends of texts and lists, in values
  Bytes values_;
};

/// Whether an entry is an object of this type, byte for byte.
[[nodiscard]] bool is_nested_entry(std::span<const std::byte> entry, ColumnType type,
                                   std::size_t header_bytes);

}  // namespace forkrun::root_io
