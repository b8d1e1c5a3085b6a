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

/// Sets the dates in what ROOT is about to write: in a key, in the keys and the directory that
/// follow it, or in a directory alone; and what ROOT left unset behind a list of keys. Leaves alone
/// what is none of these, and all compressed data.
void set_dates(std::span<std::byte> record);

/// The UUID in the header of a file, which is its first `n_header_bytes`, or nothing if these are
/// no header.
constexpr std::size_t n_header_bytes = 100;
[[nodiscard]] std::span<std::byte> uuid_in_header(std::span<std::byte> header);
/// Where the record of the top directory begins, and where in it the directory itself does.
struct DirectoryPlace {
  std::int64_t record{};
  std::int64_t directory{};
};
[[nodiscard]] DirectoryPlace top_directory(std::span<const std::byte> header);
/// The UUID in a directory; empty if this is none.
constexpr std::size_t n_directory_bytes = 60;
[[nodiscard]] std::span<std::byte> uuid_in_directory(std::span<std::byte> directory);
/// Whether a directory, of any version, has a UUID: the first ones had none.
[[nodiscard]] bool has_uuid(std::span<const std::byte> directory);

/// A record of a file. `n_bytes` < 0: so much room that is not used; 0: there is none.
struct RecordPlace {
  std::int64_t place{};
  std::int32_t n_bytes{};
  auto operator<=>(const RecordPlace&) const = default;
};
/// What a header says: where records begin and end, which two of them are ROOT's own, and how new
/// ones are compressed.
struct FileHeader {
  std::int64_t begin{};
  std::int64_t end{};
  RecordPlace free_room;
  RecordPlace classes;
  int compression{};  ///< ROOT's number
};
[[nodiscard]] FileHeader parse_header(std::span<const std::byte> header);
/// What a record says of itself in its first bytes, of which at most so many are needed; of room
/// that is not used, `place` is 0.
constexpr std::size_t n_record_bytes = 26;
[[nodiscard]] RecordPlace parse_record(std::span<const std::byte> first_bytes);
/// Length of the key that a record begins with; 0 if it does not begin with one.
[[nodiscard]] std::size_t key_length_of(std::span<const std::byte> record);
/// What a directory says of itself. `record`: where its record begins, `n_before`: after how many
/// bytes of that the directory does, by which ROOT reads folders; `version`: without what is added
/// to it where places are of 8 bytes.
struct DirectoryRecord {
  int version{};
  std::int32_t n_before{};
  std::int64_t record{};
  RecordPlace key_list;
};
[[nodiscard]] DirectoryRecord parse_directory(std::span<const std::byte> directory);
/// The records that such a list names; nothing if this is none.
[[nodiscard]] std::optional<std::vector<RecordPlace>> keys_in(std::span<std::byte> list_record);

}  // namespace forkrun::root_io
