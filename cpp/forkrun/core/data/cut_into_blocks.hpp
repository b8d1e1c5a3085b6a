#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// Default number of events of a block: enough that the cost per block is negligible, few enough
/// that the columns of a block stay in the cache.
constexpr std::size_t default_block_size = 8192;

/// Default number of events up to which a cluster is one block when several lanes read: each lane
/// then unpacks its own baskets, which is worth more than the cache.
constexpr std::size_t most_of_cluster = 65'536;

/// Size of blocks.
struct BlockSize {
  std::int64_t n_events{};
  std::int64_t most_of_cluster{};  ///< a cluster of at most this many events is not cut
};

/// Joins short ranges to blocks of at most `size.n_events`, of a few files; cuts others with
/// `cut_into_blocks`. `clusters`: by file.
void join_into_blocks(EntryRanges ranges, std::span<const std::vector<std::int64_t>> clusters,
                      BlockSize size, BlockList& blocks);

/// Cuts [first, last) into blocks of at most `size.n_events`, at cluster boundaries as far as
/// possible, a cluster that is too large into equal parts.
[[nodiscard]] std::vector<EntryRange> cut_into_blocks(const EntryRange& range,
                                                      std::span<const std::int64_t> clusters,
                                                      BlockSize size);

}  // namespace forkrun
