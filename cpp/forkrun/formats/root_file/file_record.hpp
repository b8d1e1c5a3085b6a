#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace forkrun::root_io {

/// 1 January 1995, 00:00:00, the first date that files can hold: every date in forkrun's files.
constexpr std::uint32_t reproducible_date = (1U << 22U) | (1U << 17U);

using Uuid = std::array<std::byte, 16>;

/// Sets the dates in bytes that ROOT is about to write: in a key, in the keys and the directory
/// that follow it, or in a directory alone; and bytes that ROOT left unset after a list of keys.
/// Leaves everything else, and all compressed data, unchanged.
void set_dates(std::span<std::byte> record);

/// The UUID in the header of a file, its first `n_header_bytes`; nothing for other bytes.
constexpr std::size_t n_header_bytes = 100;
[[nodiscard]] std::span<std::byte> uuid_in_header(std::span<std::byte> header);
/// Begin of the top directory's record, and place of the directory in it.
struct DirectoryPlace {
  std::int64_t record{};
  std::int64_t directory{};
};
[[nodiscard]] DirectoryPlace top_directory(std::span<const std::byte> header);
/// The UUID in a directory; empty for other bytes.
constexpr std::size_t n_directory_bytes = 60;
[[nodiscard]] std::span<std::byte> uuid_in_directory(std::span<std::byte> directory);
/// Whether a directory of this version has a UUID: the first ones had none.
[[nodiscard]] bool has_uuid(std::span<const std::byte> directory);

/// A record of a file. `n_bytes` < 0: unused room; 0: none.
struct RecordPlace {
  std::int64_t place{};
  std::int32_t n_bytes{};
  auto operator<=>(const RecordPlace&) const = default;
};
/// Content of a header: begin and end of the records, the places of ROOT's own two, and the
/// compression of new ones.
struct FileHeader {
  std::int64_t begin{};
  std::int64_t end{};
  RecordPlace free_room;
  RecordPlace classes;
  int compression{};  ///< ROOT's number
};
[[nodiscard]] FileHeader parse_header(std::span<const std::byte> header);
/// First bytes of a record, of which at most so many are needed; for unused room, `place` is 0.
constexpr std::size_t n_record_bytes = 26;
[[nodiscard]] RecordPlace parse_record(std::span<const std::byte> first_bytes);
/// Length of the key at the begin of a record; 0 without one.
[[nodiscard]] std::size_t key_length_of(std::span<const std::byte> record);
/// Content of a directory. `record`: begin of its record, `n_before`: offset of the directory in
/// that, by which ROOT reads folders; `version`: without the addition for places of 8 bytes.
struct DirectoryRecord {
  int version{};
  std::int32_t n_before{};
  std::int64_t record{};
  RecordPlace key_list;
};
[[nodiscard]] DirectoryRecord parse_directory(std::span<const std::byte> directory);
/// Records in such a list; nothing for other bytes.
[[nodiscard]] std::optional<std::vector<RecordPlace>> keys_in(std::span<std::byte> list_record);

}  // namespace forkrun::root_io
