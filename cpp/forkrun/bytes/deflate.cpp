#include <forkrun/bytes/deflate.hpp>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/inflate.hpp>
#include <forkrun/bytes/zip.hpp>

// From the library that ROOT uses, where it can be reached: these two functions of its stable
// interface have no limit of size. Elsewhere ROOT's own.
extern "C" {
__attribute__((weak)) int compress2(unsigned char*, unsigned long*, const unsigned char*,
                                    unsigned long, int);
__attribute__((weak)) unsigned long compressBound(unsigned long);
}

namespace forkrun {

namespace {

/// ROOT's block has its own header, and at most so many bytes.
std::vector<std::byte> deflated_by_root(std::span<const std::byte> from) {
  constexpr std::size_t n_header = 9, most = 0xffffff;
  std::vector<std::byte> into(from.size() + n_header);
  const auto n = from.size() > most ? 0 : zip(from, Compression::parse("zlib:6"), into);
  return n == 0 ? std::vector<std::byte>{}
                : std::vector<std::byte>{into.begin() + n_header,
                                         into.begin() + static_cast<std::ptrdiff_t>(n)};
}

/// Checksum of bytes with one checksum, followed by so many bytes with another.
std::uint32_t joined_adler32(std::uint32_t one, std::uint32_t other, std::size_t n_other) {
  constexpr std::uint64_t modulus = 65521;
  const std::uint64_t sum = (one & 0xffffU) + modulus - 1;
  const auto weighted = (one >> 16U) + (other >> 16U) + n_other % modulus * (sum % modulus);
  return static_cast<std::uint32_t>((weighted % modulus) << 16U |
                                    (sum + (other & 0xffffU)) % modulus);
}

}  // namespace

std::vector<std::byte> deflated(std::span<const std::byte> from) {
  if (compress2 == nullptr || compressBound == nullptr) {
    return deflated_by_root(from);
  }
  auto n = compressBound(from.size());
  std::vector<std::byte> into(n);
  constexpr int own_level = -1;
  const bool is_done =
      compress2(reinterpret_cast<unsigned char*>(into.data()), &n,
                reinterpret_cast<const unsigned char*>(from.data()), from.size(), own_level) == 0;
  into.resize(is_done ? n : 0);
  return into;
}

/// After the last block, which is no longer the last, comes an empty one up to a whole byte.
std::vector<std::byte> deflated_after(std::span<const std::byte> stream, const LastBlock& last,
                                      std::span<const std::byte> more) {
  constexpr std::size_t n_head = 2, n_checksum = 4, n_bits_of_head = 3;
  constexpr std::byte largest_window{0x78};
  const auto added = deflated(more);
  if (added.size() <= n_head + n_checksum || stream[0] != largest_window) {
    return {};
  }
  const auto n_whole = static_cast<std::ptrdiff_t>(last.end / 8);
  std::vector<std::byte> joined{stream.begin(), stream.begin() + n_whole};
  if (const auto n_left = last.end % 8; n_left > 0) {
    joined.push_back(stream[last.end / 8] & std::byte((1U << n_left) - 1));
  }
  joined[last.begin / 8] &= ~std::byte(1U << (last.begin % 8));
  joined.resize((last.end + n_bits_of_head + 7) / 8);
  joined.insert(joined.end(), {std::byte{0}, std::byte{0}, std::byte{0xff}, std::byte{0xff}});
  joined.insert(joined.end(), added.begin() + n_head, added.end() - n_checksum);
  const auto before = big_endian<std::uint32_t>(stream.data() + stream.size() - n_checksum);
  const auto checksum = joined_adler32(before, adler32(more), more.size());
  for (int n = 24; n >= 0; n -= 8) {
    joined.push_back(static_cast<std::byte>(checksum >> static_cast<unsigned>(n)));
  }
  return joined;
}

}  // namespace forkrun
