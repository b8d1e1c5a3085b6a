#include <forkrun/formats/root_file/file_record.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <forkrun/bytes/big_endian.hpp>

namespace forkrun::root_io {

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t some_date = 0x9c420001;

template <typename T>
void put(Bytes& bytes, T value) {
  bytes.resize(bytes.size() + sizeof(T));
  put_big_endian(bytes.data() + bytes.size() - sizeof(T), value);
}

void put(Bytes& bytes, const std::string& text) {
  put(bytes, static_cast<std::uint8_t>(text.size()));
  for (const char letter : text) {
    put(bytes, letter);
  }
}

void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

/// A key of an object "x" that takes so many bytes; with 64-bit places if `large`.
Bytes key(const std::string& type, std::size_t n_object, bool large, std::uint32_t date) {
  const std::size_t length = 18 + (large ? 16 : 8) + 1 + type.size() + 2 + 1;
  Bytes bytes;
  put(bytes, static_cast<std::int32_t>(length + n_object));
  put(bytes, static_cast<std::int16_t>(large ? 1004 : 4));
  put(bytes, static_cast<std::int32_t>(n_object));
  put(bytes, date);
  put(bytes, static_cast<std::int16_t>(length));
  put(bytes, std::int16_t{1});
  bytes.resize(bytes.size() + (large ? 16 : 8));
  put(bytes, type);
  put(bytes, std::string{"x"});
  put(bytes, std::string{});
  return bytes;
}

Bytes directory(bool large, std::uint32_t date) {
  Bytes bytes;
  put(bytes, static_cast<std::int16_t>(large ? 1005 : 5));
  put(bytes, date);
  put(bytes, date);
  bytes.resize(n_directory_bytes, std::byte{7});
  return bytes;
}

Bytes list_of_keys(bool large, std::uint32_t date) {
  Bytes bytes;
  put(bytes, std::int32_t{2});
  append(bytes, key("TTree", 1000, large, date));
  append(bytes, key("TH1D", 50, large, date));
  return bytes;
}

Bytes record(const std::string& type, const Bytes& content, bool large, std::uint32_t date) {
  Bytes bytes = key(type, content.size(), large, date);
  append(bytes, content);
  return bytes;
}

class InBothForms : public testing::TestWithParam<bool> {
 protected:
  static void expect(Bytes before, const Bytes& after) {
    set_dates(before);
    EXPECT_EQ(before, after);
  }
  const bool large_ = GetParam();
};

TEST_P(InBothForms, ADirectoryGetsItsTwoDates) {
  expect(directory(large_, some_date), directory(large_, reproducible_date));
}

TEST_P(InBothForms, AnObjectGetsTheDateOfItsKeyAlone) {
  const auto content = list_of_keys(large_, some_date);  // whatever it looks like
  expect(record("TTree", content, large_, some_date),
         record("TTree", content, large_, reproducible_date));
}

TEST_P(InBothForms, TheKeysOfADirectoryGetTheirDates) {
  for (const auto* type : {"TFile", "TDirectory", "TDirectoryFile"}) {
    expect(record(type, list_of_keys(large_, some_date), large_, some_date),
           record(type, list_of_keys(large_, reproducible_date), large_, reproducible_date));
  }
}

TEST_P(InBothForms, WhatIsLeftOverBehindKeysIsSetToZero) {
  auto before = list_of_keys(large_, some_date);
  auto after = list_of_keys(large_, reproducible_date);
  before.resize(before.size() + 8, std::byte{0xab});
  after.resize(after.size() + 8);
  expect(record("TFile", before, large_, some_date),
         record("TFile", after, large_, reproducible_date));
}

TEST_P(InBothForms, ANewDirectoryGetsItsDatesBehindItsName) {
  Bytes before;
  put(before, std::string{"name"});
  put(before, std::string{"title"});
  auto after = before;
  append(before, directory(large_, some_date));
  append(after, directory(large_, reproducible_date));
  expect(record("TFile", before, large_, some_date),
         record("TFile", after, large_, reproducible_date));
}

TEST_P(InBothForms, AListOfFreeSpaceStaysAsItIs) {
  Bytes free;
  put(free, static_cast<std::int16_t>(large_ ? 1001 : 1));
  free.resize(large_ ? 18 : 10, std::byte{9});
  expect(record("TFile", free, large_, some_date),
         record("TFile", free, large_, reproducible_date));
}

INSTANTIATE_TEST_SUITE_P(FileRecord, InBothForms, testing::Bool());

TEST(FileRecord, WhatIsNoRecordStaysAsItIs) {
  for (std::size_t n = 0; n < 100; ++n) {
    Bytes bytes(n, std::byte{0xff});  // the mark of a gap is a negative number
    const auto before = bytes;
    set_dates(bytes);
    EXPECT_EQ(bytes, before);
  }
}

TEST(FileRecord, FindsUuidsInBothForms) {
  Bytes header(n_header_bytes);
  EXPECT_EQ(uuid_in_header(header).data(), &header[47]);
  put_big_endian(&header[4], 1'064'000);
  EXPECT_EQ(uuid_in_header(header).data(), &header[59]);
  auto small = directory(false, some_date);
  auto large = directory(true, some_date);
  EXPECT_EQ(uuid_in_directory(small).data(), &small[32]);
  EXPECT_EQ(uuid_in_directory(large).data(), &large[44]);
  EXPECT_TRUE(uuid_in_directory(header).empty());
}

}  // namespace
}  // namespace forkrun::root_io
