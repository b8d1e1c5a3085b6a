#include <forkrun/formats/root_file/record_file.hpp>

#include <algorithm>
#include <array>

#include <forkrun/bytes/big_endian.hpp>

namespace forkrun::root_io {

std::int64_t& hole_in_new_files() {
  static std::int64_t n_bytes = 0;
  return n_bytes;
}

void RecordFile::leave_hole() {
  constexpr std::int64_t longest = 1'000'000'000;  // its negative length is kept in 4 bytes
  for (auto left = hole_in_new_files(); left > 0; left -= longest) {
    const auto n_bytes = std::min(left, longest);
    std::array<std::byte, sizeof(std::int32_t)> mark{};
    put_big_endian(mark.data(), static_cast<std::int32_t>(-n_bytes));
    write(allocate(static_cast<std::size_t>(n_bytes)), mark);
  }
}

}  // namespace forkrun::root_io
