#include <forkrun/process/file_checksum.hpp>

#include <array>
#include <cstring>

#include <forkrun/process/open_file.hpp>

namespace forkrun {

namespace {

using Update = std::uint32_t (*)(std::uint32_t, std::span<const std::byte>);

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t polynomial = 0x82f63b78U;  // bits in reverse
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    auto value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1U) ^ ((value & 1U) != 0 ? polynomial : 0U);
    }
    table[byte] = value;
  }
  return table;
}

std::uint32_t update_by_table(std::uint32_t crc, std::span<const std::byte> bytes) {
  static constexpr auto table = make_table();
  for (const auto byte : bytes) {
    crc = (crc >> 8U) ^ table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t update_by_processor(
    std::uint32_t crc, std::span<const std::byte> bytes) {
  std::uint64_t wide = crc;
  for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
    std::uint64_t word{};
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return update_by_table(static_cast<std::uint32_t>(wide), bytes);
}

Update choose() {
  return __builtin_cpu_supports("sse4.2") ? &update_by_processor : &update_by_table;
}
#else
Update choose() { return &update_by_table; }
#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  static const auto update = choose();
  return ~update(~before, bytes);
}

std::uint32_t file_checksum(const std::string& path) {
  const OpenFile file{path};
  std::array<std::byte, std::size_t{1} << 16U> buffer;  // most files are small: not on the heap
  std::uint32_t crc = 0;
  for (auto bytes = file.read(buffer); !bytes.empty(); bytes = file.read(buffer)) {
    crc = crc32c(bytes, crc);
  }
  return crc;
}

}  // namespace forkrun
