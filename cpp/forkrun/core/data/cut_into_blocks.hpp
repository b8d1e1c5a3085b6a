#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// Events of a block where nobody says how many: enough that the cost per block does not count, few
/// enough that the columns of a block stay in the cache.
constexpr std::size_t default_block_size = 8192;

/// Events of a cluster that is a block where nobody says how many and several lanes read: each then
/// unpacks baskets of its own. That is worth more than the cache.
constexpr std::size_t most_of_cluster = 65'536;

/// How large blocks are.
struct BlockSize {
  std::int64_t n_events{};
  std::int64_t most_of_cluster{};  ///< a cluster of up to so many events is not cut
};

/// Joins short ranges to blocks of at most `size.n_events`, of a few files; others are cut as by
/// `cut_into_blocks`. `clusters`: by file.
void join_into_blocks(EntryRanges ranges, std::span<const std::vector<std::int64_t>> clusters,
                      BlockSize size, BlockList& blocks);

/// Cuts [first, last) into blocks of at most `size.n_events`, at cluster boundaries as far as
/// possible, a cluster that is too large into equal parts.
[[nodiscard]] std::vector<EntryRange> cut_into_blocks(const EntryRange& range,
                                                      std::span<const std::int64_t> clusters,
                                                      BlockSize size);

}  // namespace forkrun
