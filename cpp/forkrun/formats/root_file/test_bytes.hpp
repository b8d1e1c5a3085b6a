#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/file_record.hpp>

namespace forkrun::root_io {

/// All bytes of a file, its UUIDs set to zero.
inline std::vector<std::byte> bytes_without_uuids(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const auto all = std::as_bytes(std::span{text});
  std::vector<std::byte> bytes{all.begin(), all.end()};
  const auto directory = static_cast<std::size_t>(top_directory(bytes).directory);
  std::ranges::fill(uuid_in_header(bytes), std::byte{});
  std::ranges::fill(uuid_in_directory(std::span{bytes}.subspan(directory)), std::byte{});
  return bytes;
}

constexpr std::ptrdiff_t no_byte = -1;

/// The number of the first byte, UUIDs left out, in which two files differ.
inline std::ptrdiff_t different_byte(const std::string& one, const std::string& other) {
  const auto ours = bytes_without_uuids(one);
  const auto theirs = bytes_without_uuids(other);
  const auto [at, at_theirs] = std::ranges::mismatch(ours, theirs);
  return at == ours.end() && at_theirs == theirs.end() ? no_byte : at - ours.begin();
}

}  // namespace forkrun::root_io
