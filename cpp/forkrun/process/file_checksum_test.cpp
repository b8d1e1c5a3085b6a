#include <forkrun/process/file_checksum.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

TEST(FileChecksumTest, known_texts_have_their_known_sums) {
  EXPECT_EQ(crc32c(bytes_of("")), 0U);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43U);
}

TEST(FileChecksumTest, a_text_in_parts_has_the_sum_of_the_whole) {
  const std::string_view text = "exactly once, whatever dies";
  for (std::size_t n = 0; n <= text.size(); ++n) {
    EXPECT_EQ(crc32c(bytes_of(text.substr(n)), crc32c(bytes_of(text.substr(0, n)))),
              crc32c(bytes_of(text)));
  }
}

TEST(FileChecksumTest, a_file_longer_than_the_buffer_is_read_whole) {
  const auto path = testing::TempDir() + "file_checksum_test." + std::to_string(::getpid());
  const std::string text(600'001, 'x');
  std::ofstream{path} << text;
  EXPECT_EQ(file_checksum(path), crc32c(bytes_of(text)));
  std::remove(path.c_str());
  EXPECT_THROW((void)file_checksum(path), InputError);
}

}  // namespace
}  // namespace forkrun
