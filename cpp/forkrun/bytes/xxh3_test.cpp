#include <forkrun/bytes/xxh3.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace forkrun {

/// Values by the reference implementation, of one length for each of its ways.
TEST(Xxh3, GivesTheChecksumsOfTheReferenceImplementation) {
  constexpr std::pair<std::size_t, std::uint64_t> known[] = {
      {0, 0x2d06800538d394c2},    {1, 0x13e608bc156defed},    {3, 0xa9088dda485b481c},
      {4, 0x6d9253b16c8b1ed3},    {8, 0x60539db630471163},    {9, 0xfeff668361d723a8},
      {16, 0xb8c859b0f030b585},   {17, 0x714a04408e79b80f},   {128, 0x67425a03650261bf},
      {129, 0xc664bf3311c6abc4},  {240, 0x64556dc6b462a6cf},  {241, 0x8beadd3a8874fe17},
      {1024, 0x9b81661c641c72b1}, {1025, 0x806c2072ed713576}, {3000, 0xc89178bb873c6b3d}};
  std::vector<std::byte> bytes(3000);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(7 * i + 3);
  }
  for (const auto& [n, checksum] : known) {
    EXPECT_EQ(xxh3(std::span{bytes}.first(n)), checksum) << n << " bytes";
  }
}

}  // namespace forkrun
