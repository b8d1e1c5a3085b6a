#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace forkrun {

/// CRC-32C (Castagnoli, as in iSCSI and ext4). `before`: checksum of the preceding bytes.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// CRC-32C of a whole file. \throws InputError if it cannot be read.
[[nodiscard]] std::uint32_t file_checksum(const std::string& path);

}  // namespace forkrun
