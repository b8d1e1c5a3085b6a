#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/bytes/growing_bytes.hpp>

namespace forkrun::root_io {

/// The uncompressed entries of one branch for a range of entries, as they are on disk: big-endian.
struct Basket {
  std::int64_t first_entry{};
  std::int64_t n_entries{};
  std::span<const std::byte> data;
  /// Where each entry begins in `data`, n_entries + 1 values; empty if every entry has
  /// `entry_size`.
  std::vector<std::int32_t> offsets;
  std::size_t entry_size{};
  /// Entries differ in size, and the offsets are not stored: they follow from the numbers of
  /// values.
  bool lacks_offsets{};

  [[nodiscard]] bool contains(std::int64_t entry) const {
    return entry >= first_entry && entry < first_entry + n_entries;
  }
  [[nodiscard]] std::span<const std::byte> entries(std::int64_t first, std::int64_t last) const;
};

/// Bytes before a basket's data on file: the key (always the form for large files, as ROOT writes
/// baskets) and the basket's own header.
struct BasketHeader {
  std::int32_t n_bytes{};        ///< header and compressed data
  std::int32_t object_length{};  ///< uncompressed data
  std::int16_t key_length{};     ///< header
  std::int32_t entry_size{};     ///< or length of the offset array
  std::int32_t n_entries{};
  std::int32_t last{};      ///< end of the entries, counted from the begin of the header
  std::int64_t seek_key{};  ///< where the record says that it is
  bool is_of_small_file{};  ///< places in the key have 32 bits
  bool lacks_offsets{};     ///< if its entries differ in size (ROOT's kGenerateOffsetMap)
};

/// Whether the bytes begin as the record of a basket does, with a key for files of any size or for
/// small ones (of old ROOT and of other writers).
[[nodiscard]] bool is_basket(std::span<const std::byte> record);

/// Header of a record, whose sizes agree with each other and with the heads of compressed blocks.
/// \throws Error if the bytes are not a basket, or a damaged one.
[[nodiscard]] BasketHeader parse_basket_header(std::span<const std::byte> record);

/// The name in the key: that of the branch. Only for what `parse_basket_header` accepts.
[[nodiscard]] std::string_view basket_name(std::span<const std::byte> record);

/// Uncompresses the record of one basket into `basket`, whose data live in `memory`.
/// `has_offsets`: the branch's entries differ in size. Offsets that are not stored have to be made
/// by the caller. \throws Error if the bytes are damaged.
void decode_basket(std::span<const std::byte> record, bool has_offsets, Bytes& memory,
                   Basket& basket);

/// Whether zlib has compressed it, to one block. Only for what `parse_basket_header` accepts.
[[nodiscard]] bool is_zlib_basket(std::span<const std::byte> record);

/// Whether what it holds is compressed with a checksum. Only for what `parse_basket_header`
/// accepts.
[[nodiscard]] bool has_checksum(std::span<const std::byte> record);

/// A basket's record, and where it is uncompressed to.
struct BasketToDecode {
  std::span<const std::byte> record;
  Bytes& memory;
  Basket& basket;
};
/// Two baskets of a branch, if that takes less time than one after the other; false if not, and
/// nothing is done. \throws Error if the bytes of one are damaged.
[[nodiscard]] bool decode_both(const BasketToDecode& one, const BasketToDecode& other,
                               bool has_offsets);

/// Sets the size of entries that all have the same one. \throws Error if they cannot have.
void set_entry_size(Basket& basket);

/// Turns places of entries counted from the start of the header into places in `data`. \throws
/// Error if they are not in order.
void move_offsets(std::vector<std::int32_t>& offsets, std::int32_t key_length);

/// A basket about to be written: `record` is complete but for the place on file.
struct BasketRecord {
  std::vector<std::byte> record;
  BasketHeader header;
  std::int64_t first_entry{};
};

/// Makes the record of a basket from its entries' bytes. `offsets`: n_entries begins of entries, or
/// empty with a fixed `entry_size`.
[[nodiscard]] BasketRecord encode_basket(const std::string& name, const std::string& title,
                                         std::span<const std::byte> entries,
                                         std::span<const std::int32_t> offsets,
                                         std::int32_t entry_size, std::int32_t n_entries,
                                         Compression compression);

/// Length of the header of a new basket. `name`, `title`: of its branch and tree.
[[nodiscard]] std::int16_t header_length(const std::string& name, const std::string& title);

/// Writes place of the record and of its directory into the record's key, and the fixed date and
/// cycle that make files reproducible. `process_offset`: of copied objects that refer to others, is
/// added to the numbers of processes in their file; only keys of large files have room for it.
/// \throws Error if a key for small files is beyond 2 GB.
void place_basket(std::span<std::byte> record, std::int64_t seek_key, std::int64_t seek_directory,
                  std::optional<std::uint16_t> process_offset = {});

}  // namespace forkrun::root_io
