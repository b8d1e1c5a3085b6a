#pragma once

namespace forkrun {

/// Sizes from which stored data are copied as they are. Smaller ones are joined with others, which
/// takes more time: each size is where that begins to pay.
namespace least_copied {
/// Mean bytes on file of the baskets of a tree, which have headers of a hundred. Measured with 40
/// generated files of 900 branches: joining takes 0.5, 0.7, 0.9 and 1.2 times the CPU time of hadd
/// -ff where baskets have 160, 256, 390 and 670 bytes, copying always 0.3 times. Joined files have
/// 0.3, 0.5, 0.6 and 0.8 times the size of copied ones, and are read in 0.6, 0.6, 0.6 and 0.8 times
/// the time.
constexpr double basket = 256;
/// Mean bytes on file of the pages of a column in an RNTuple's cluster: readers take some µs for
/// each page. Smaller ones are most of the pages of a small cluster, and little of its bytes.
constexpr double page = 512;
/// The same after values that wait to be joined: these would become a page.
constexpr double page_after_values = 2 * page;
/// Part of the unpacked bytes that a new cluster would have: readers unpack a cluster at a time.
constexpr double part_of_cluster = 1.0 / 32;
}  // namespace least_copied

/// Whether `n` of something, with so many bytes together, are copied where each needs `least`.
[[nodiscard]] constexpr bool is_worth_copying(double n_bytes, double n, double least) {
  return n_bytes >= least * n;
}

}  // namespace forkrun
