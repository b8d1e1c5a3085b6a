#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <forkrun/core/data/fixed_point.hpp>

/// Adds two columns of doubles at a time to sums of cells, exactly, in vector instructions.
namespace forkrun::fixed_point {

/// Two values for each cell that is filled. The arrays are as long as `cells`.
struct PairColumns {
  std::span<const std::uint32_t> cells;
  const double* one;
  const double* other;
};

/// Adds to numbers of two words: those of cell c are at words[c * stride], first `one`'s. `bases`:
/// exponents of their lowest bits. \returns how many values of each column were added: a multiple
/// of 4, or 0 if the processor cannot. \pre as of `split_values<2>`
[[nodiscard]] std::size_t add_pairs(const PairColumns& columns, std::array<int, 2> bases,
                                    Word* words, std::size_t stride, bool prefetches);

/// Fills that are first summed in doubles, each value in two parts, so that all of these sums are
/// exact. Most fills of a table in the cache then cost four additions, done as one.
constexpr std::size_t most_summed_in_doubles = 4096;
constexpr int bits_of_most_summed = 12;

/// Bits in which all values of a column lie: multiples of 2^low, magnitudes below 2^high.
struct BitRange {
  int low;
  int high;
};

/// What, added to a value and taken off again, leaves its upper part; nothing if the values are too
/// far apart for sums of 4096 to be exact.
[[nodiscard]] std::optional<double> splitter_of(BitRange range);

/// The upper and the lower parts of `one`, then those of `other`.
struct alignas(32) PartSums {
  double one_high;
  double one_low;
  double other_high;
  double other_low;
};

/// Adds the parts of values to the sums of their cells. \pre at most 4096 values since the sums
/// were 0; `splitters` are those of the columns
void sum_parts(const PairColumns& columns, std::array<double, 2> splitters, PartSums* sums);

}  // namespace forkrun::fixed_point
