#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <forkrun/histograms/fixed_point.hpp>

/// Adds two columns of doubles at a time to sums of cells, exactly, in vector instructions.
namespace forkrun::fixed_point {

/// Two values for each cell that is filled. The arrays are as long as `cells`.
struct PairColumns {
  std::span<const std::uint32_t> cells;
  const double* one;
  const double* other;
};

/// Whether words are asked for some values before they are needed.
struct Prefetching {
  bool is_wanted;
  std::size_t n_next;  ///< cells behind the last one that are soon needed as well
};

/// Adds to numbers of two words: those of cell c are at words[c * stride], first `one`'s. `bases`:
/// exponents of their lowest bits. \returns how many values of each column were added: a multiple
/// of 4, or 0 if the processor cannot. \pre as of `split_values<2>`
[[nodiscard]] std::size_t add_pairs(const PairColumns& columns, std::array<int, 2> bases,
                                    Word* words, std::size_t stride, Prefetching prefetching);

}  // namespace forkrun::fixed_point
