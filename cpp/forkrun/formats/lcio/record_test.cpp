#include <forkrun/formats/lcio/record.hpp>

#include <gtest/gtest.h>

#include <string>

#include <forkrun/formats/lcio/test_stream.hpp>

namespace forkrun::lcio {

namespace {

Stream head(std::uint32_t options, std::uint32_t n_stored, std::uint32_t n_data) {
  Stream stream;
  stream.words(24 + 8, record_marker, options, n_stored, n_data, 7).characters("LCEvent");
  return stream;
}

std::string error_of(const Stream& stream, std::int64_t n_file) {
  try {
    (void)record_head(stream.bytes(), 0, n_file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LcioRecord, the_head_says_where_the_next_record_begins) {
  const auto packed = record_head(head(1, 13, 20).bytes(), 100, 1000);
  EXPECT_EQ(packed.name, "LCEvent");
  EXPECT_EQ(packed.data_place(), 132);
  EXPECT_EQ(packed.end(), 148);
  EXPECT_EQ(record_head(head(0, 16, 16).bytes(), 100, 1000).end(), 148);
}

TEST(LcioRecord, lengths_that_cannot_be_are_refused) {
  EXPECT_NE(error_of(head(1, 13, 20), 40).find("truncated"), std::string::npos);
  EXPECT_NE(error_of(head(0, 16, 20), 100).find("two lengths"), std::string::npos);
  EXPECT_NE(error_of(head(1, 1, 1U << 30U), 100).find("cannot become"), std::string::npos);
  Stream without_marker;
  without_marker.words(32, 1, 0, 0, 0, 7).characters("LCEvent");
  EXPECT_NE(error_of(without_marker, 100).find("0xABADCAFE"), std::string::npos);
}

TEST(LcioRecord, blocks_follow_each_other) {
  Stream data;
  data.words(28, block_marker, version_of(2, 23), 3).characters("Abc").words(1, 2);
  data.words(20, block_marker, version_of(1, 2), 1).characters("B");
  std::string seen;
  for_each_block(data.bytes(), [&](const Block& block) {
    seen += std::string{block.name} + std::to_string(block.content.size()) + ",";
  });
  EXPECT_EQ(seen, "Abc8,B0,");
  Stream too_long;
  too_long.words(64, block_marker, 0, 1).characters("B");
  EXPECT_THROW(for_each_block(too_long.bytes(), [](const Block&) {}), InputError);
}

}  // namespace

}  // namespace forkrun::lcio
