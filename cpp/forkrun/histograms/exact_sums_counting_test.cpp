#include <gtest/gtest.h>

#include <array>
#include <vector>

#include <forkrun/histograms/exact_sums.hpp>

namespace forkrun {
namespace {

using Values = std::vector<double>;

TEST(CountsTest, each_count_adds_1_to_all_sums_of_its_cell) {
  ExactSums sums{2, 3};
  const auto counts = sums.counts(5);
  counts[0] += 1;
  counts[2] += 4;
  EXPECT_FALSE(sums.empty());
  EXPECT_EQ(sums.rounded(), (Values{1, 0, 4, 1, 0, 4}));
  sums.add(2, std::array{0.5, 0.25});
  EXPECT_EQ(sums.rounded(), (Values{1, 0, 4.5, 1, 0, 4.25}));
}

TEST(CountsTest, a_file_has_counts_as_it_has_weights_of_1) {
  for (const bool has_weights : {false, true}) {
    ExactSums counted{2, 50};
    ExactSums added{2, 50};
    for (std::size_t cell = 0; cell < 50; cell += 7) {
      counted.counts(1)[cell] += 1;
      added.add(cell, std::array{1.0, 1.0});
    }
    if (has_weights) {
      counted.add(3, std::array{0.1, 0.01});
      added.add(3, std::array{0.1, 0.01});
    }
    EXPECT_EQ(counted.packed(), added.packed());
    EXPECT_EQ(ExactSums::unpacked(counted.packed(), 2, 50).rounded(), added.rounded());
  }
}

TEST(CountsTest, more_counts_than_32_bits_hold_become_part_of_the_sums) {
  ExactSums sums{1, 1};
  for (int turn = 0; turn < 5; ++turn) {
    sums.counts(ExactSums::most_counted)[0] += std::uint32_t{1} << 31;
  }
  EXPECT_EQ(sums.rounded(), (Values{5.0 * (1UL << 31)}));
  ExactSums twice{sums};
  twice.merge(sums);
  EXPECT_EQ(twice.rounded(), (Values{10.0 * (1UL << 31)}));
}

TEST(CountsTest, counts_merge_move_and_are_cleared_with_their_cells) {
  ExactSums sums{1, 2};
  sums.counts(3)[1] += 3;
  ExactSums all{1, 4};
  all.counts(1)[1] += 1;
  all.merge(sums);
  all.merge(sums, 2);
  EXPECT_EQ(all.rounded(), (Values{0, 4, 0, 3}));
  all.clear_cell(1);
  EXPECT_EQ(all.rounded(), (Values{0, 0, 0, 3}));
  all.move_cells(std::array<std::uint32_t, 4>{4, 3, 2, 1}, 5);
  EXPECT_EQ(all.rounded(), (Values{0, 3, 0, 0, 0}));
  all.clear();
  EXPECT_TRUE(all.empty());
}

TEST(CountsTest, copies_keep_what_they_had_when_the_others_are_filled) {
  ExactSums sums{1, 2};
  sums.add(0, std::array{0.5});
  sums.counts(1)[1] += 1;
  const ExactSums before{sums};
  sums.add(0, std::array{0.5});
  sums.counts(1)[1] += 1;
  EXPECT_EQ(before.rounded(), (Values{0.5, 1}));
  ExactSums cleared{sums};
  cleared.clear_cell(0);
  cleared.clear_cell(1);
  ExactSums merged{sums};
  merged.merge(before);
  EXPECT_EQ(sums.rounded(), (Values{1, 2}));
  EXPECT_EQ(merged.rounded(), (Values{1.5, 3}));
  EXPECT_EQ(cleared.rounded(), (Values{0, 0}));
}

}  // namespace
}  // namespace forkrun
