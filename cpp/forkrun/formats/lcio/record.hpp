#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <forkrun/formats/lcio/cursor.hpp>

namespace forkrun::lcio {

constexpr std::uint32_t record_marker = 0xABADCAFE, block_marker = 0xDEADBEEF;
constexpr std::size_t least_head = 24, most_name = 64, most_head = least_head + most_name;

/// Head of a record: its kind, and its sizes.
struct RecordHead {
  std::int64_t place{};      ///< of the head in the file
  std::uint32_t n_head{};    ///< bytes
  std::uint32_t options{};   ///< bit 0: compressed
  std::uint32_t n_stored{};  ///< bytes of the data in the file, without padding
  std::uint32_t n_data{};    ///< bytes of the data, uncompressed
  std::string name;

  [[nodiscard]] bool is_compressed() const { return (options & 1U) != 0; }
  [[nodiscard]] std::int64_t data_place() const { return place + n_head; }
  [[nodiscard]] std::int64_t end() const;
};

/// The head at this place. `bytes`: `most_head` bytes from there, or up to the end of the file;
/// `n_file`: bytes of the file. \throws InputError if it is invalid, or its data exceed the file.
[[nodiscard]] RecordHead record_head(std::span<const std::byte> bytes, std::int64_t place,
                                     std::int64_t n_file);

/// Returns the data, inflated if need be. `into`: `n_data` bytes. \throws InputError
void restore(const RecordHead& head, std::span<const std::byte> stored, std::span<std::byte> into);
[[noreturn]] void throw_not_inflated(const RecordHead& head);

/// A part of a record's data. `version`: major << 16 | minor of the LCIO that wrote it.
struct Block {
  std::string_view name;
  std::uint32_t version{};
  std::span<const std::byte> content;
};

/// Blocks of the data of a record, in order. \throws InputError
void for_each_block(std::span<const std::byte> data, const std::function<void(const Block&)>& use);

[[nodiscard]] constexpr std::uint32_t version_of(std::uint32_t major, std::uint32_t minor) {
  return major << 16U | minor;
}

}  // namespace forkrun::lcio
