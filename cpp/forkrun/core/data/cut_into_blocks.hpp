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

/// Joins short ranges to blocks of at most `block_size` events, of a few files; others are cut as
/// by `cut_into_blocks`. `clusters`: by file.
void join_into_blocks(EntryRanges ranges, std::span<const std::vector<std::int64_t>> clusters,
                      std::int64_t block_size, BlockList& blocks);

/// Cuts [first, last) into blocks of at most `block_size` entries, at cluster boundaries as far as
/// possible, a cluster larger than that into equal parts.
[[nodiscard]] std::vector<EntryRange> cut_into_blocks(const EntryRange& range,
                                                      std::span<const std::int64_t> clusters,
                                                      std::int64_t block_size);

}  // namespace forkrun
