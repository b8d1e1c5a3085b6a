#include <forkrun/fragments/fragment.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <gtest/gtest.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/process/file_checksum.hpp>

namespace forkrun {
namespace {

const std::vector<ColumnDescription> columns{{"mass", ColumnType::parse("float64")},
                                             {"Jet_pt", ColumnType::parse("float32[]")}};

class Fragment : public testing::Test {
 protected:
  Fragment() : path_{testing::TempDir() + "x.fragment"} {}
  ~Fragment() override { std::filesystem::remove(path_); }

  /// One fragment of `n` blocks, in each of which events 1, 2 and 5 of 6 are selected.
  void write(std::int64_t n) const {
    FragmentWriter writer{path_, columns};
    const std::vector<EntryRun> runs{{1, 3}, {5, 6}};
    for (std::int64_t block = 0; block < n; ++block) {
      Column mass{columns[0].type};
      Column pt{columns[1].type};
      const auto masses = mass.fill_scalar<double>(6);
      const auto offsets = pt.resize_offsets(6);
      auto* values = reinterpret_cast<float*>(pt.resize_values(15));
      offsets[0] = 0;
      for (std::int64_t i = 0; i < 6; ++i) {
        masses[static_cast<std::size_t>(i)] = static_cast<double>(10 * block + i);
        offsets[static_cast<std::size_t>(i) + 1] = offsets[static_cast<std::size_t>(i)] + i;
      }
      for (int i = 0; i < 15; ++i) {
        values[i] = static_cast<float>(i);
      }
      writer.add_entries({3, 6 * block + 1, 6 * block + 3});
      writer.add_entries({3, 6 * block + 5, 6 * block + 6});
      writer.add(0, mass, runs);
      writer.add(1, pt, runs);
      writer.end_of_step();
    }
    const auto n_bytes = writer.close();
    EXPECT_EQ(n_bytes, static_cast<std::int64_t>(std::filesystem::file_size(path_)));
  }

  std::string path_;
};

TEST_F(Fragment, IsJoinedWithOthers) {
  write(2);
  const auto joined = path_ + ".joined";
  const auto [n_bytes, checksum] = join_fragments({path_, path_}, joined, {{3, 5}, {5, 7}});
  EXPECT_EQ(n_bytes, static_cast<std::int64_t>(std::filesystem::file_size(joined)));
  EXPECT_EQ(checksum, file_checksum(joined));
  FragmentReader reader{joined};
  const auto piece = reader.next();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->n_events(), 12);
  EXPECT_EQ(piece->entries.front().file, 5);
  EXPECT_EQ(piece->columns[0].values<double>()[9], 11);
  EXPECT_EQ(piece->columns[1].jagged<float>()[11][4], 14);
  EXPECT_FALSE(reader.next());
  std::filesystem::remove(joined);
}

TEST_F(Fragment, GivesBackWhatWasWritten) {
  write(2);
  FragmentReader reader{path_};
  ASSERT_EQ(reader.columns().size(), 2);
  EXPECT_EQ(reader.columns()[1].name, "Jet_pt");
  const auto piece = reader.next();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->n_events(), 6);
  EXPECT_EQ(piece->entries.size(), 4);  // 5 and 7 are not next to each other
  EXPECT_EQ(piece->columns[0].values<double>()[3], 11);
  const auto pt = piece->columns[1].jagged<float>();
  ASSERT_EQ(pt.size(), 6);
  EXPECT_EQ(pt[1].size(), 2);
  EXPECT_EQ(pt[5].size(), 5);
  EXPECT_EQ(pt[5][4], 14);
  EXPECT_FALSE(reader.next());
}

TEST_F(Fragment, HoldsArraysListsOfListsAndTextsOfSelectedEvents) {
  const std::vector<ColumnDescription> shapes{{"x", ColumnType::parse("int16[2]")},
                                              {"v", ColumnType::parse("int32[][]")},
                                              {"s", ColumnType::parse("string")}};
  Column x{shapes[0].type};
  std::ranges::copy(std::vector<std::int16_t>{0, 1, 10, 11, 20, 21},
                    x.fill_scalar<std::int16_t>(3).begin());
  Column v{shapes[1].type};
  std::ranges::copy(std::vector<std::int64_t>{0, 1, 3, 3}, v.resize_offsets(3).begin());
  std::ranges::copy(std::vector<std::int64_t>{0, 2, 2, 3}, v.resize_offsets(3, 1).begin());
  std::ranges::copy(std::vector<std::int32_t>{7, 8, 9},
                    reinterpret_cast<std::int32_t*>(v.resize_values(3)));
  Column s{shapes[2].type};
  std::ranges::copy(std::vector<std::int64_t>{0, 1, 4, 4}, s.resize_offsets(3).begin());
  std::ranges::copy(std::string_view{"abcd"}, reinterpret_cast<char*>(s.resize_values(4)));
  FragmentWriter writer{path_, shapes};
  const EntryRun last_two{1, 3};
  writer.add_entries({0, 1, 3});
  writer.add(0, x, {&last_two, 1});
  writer.add(1, v, {&last_two, 1});
  writer.add(2, s, {&last_two, 1});
  writer.close();

  FragmentReader reader{path_};
  const auto piece = reader.next();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->columns[0].fixed<std::int16_t>()[1][1], 21);
  const auto lists = piece->columns[1].nested<std::int32_t>();
  ASSERT_EQ(lists[0].size(), 2U);
  EXPECT_EQ(lists[0][0].size(), 0U);
  EXPECT_EQ(lists[0][1][0], 9);
  EXPECT_EQ(lists[1].size(), 0U);
  EXPECT_EQ(text_of(piece->columns[2].jagged<char>()[0]), "bcd");
  EXPECT_EQ(text_of(piece->columns[2].jagged<char>()[1]), "");
}

TEST_F(Fragment, HasPiecesOfBoundedSize) {
  write(100'000);
  FragmentReader reader{path_};
  std::int64_t n_events = 0;
  std::int64_t n_pieces = 0;
  while (const auto piece = reader.next()) {
    n_events += piece->n_events();
    ++n_pieces;
  }
  EXPECT_EQ(n_events, 300'000);
  EXPECT_GT(n_pieces, 1);
}

TEST_F(Fragment, ThatWasCutShortIsAnError) {
  write(2);
  const auto size = std::filesystem::file_size(path_);
  for (std::uintmax_t n = 0; n < size; ++n) {
    std::filesystem::resize_file(path_, size - 1 - n);
    EXPECT_THROW(
        {
          FragmentReader reader{path_};
          while (reader.next()) {
          }
        },
        InputError);
  }
}

TEST_F(Fragment, LeavesNothingWhenAbandoned) {
  FragmentWriter writer{path_, columns};
  writer.abandon();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace forkrun
