#include <forkrun/core/data/cut_into_blocks.hpp>

#include <algorithm>

namespace forkrun {

namespace {

/// Files of a block: each is open, with its columns' state.
constexpr std::size_t most_files = 16;

}  // namespace

void join_into_blocks(EntryRanges ranges, std::span<const std::vector<std::int64_t>> clusters,
                      BlockSize size, BlockList& blocks) {
  std::int64_t n_events = size.n_events;  // of the block that was begun last
  std::size_t n_files = 0;
  auto file = ~std::uint32_t{0};
  for (const auto& range : ranges) {
    for (const auto& part : cut_into_blocks(range, clusters[range.file], size)) {
      const auto n_of_part = part.last - part.first;
      n_files += part.file == file ? 0 : 1;
      if (n_events + n_of_part <= size.n_events && n_files <= most_files) {
        blocks.add(part);
      } else {
        blocks.begin(part);
        n_events = 0;
        n_files = 1;
      }
      file = part.file;
      n_events += n_of_part;
    }
  }
}

std::vector<EntryRange> cut_into_blocks(const EntryRange& range,
                                        std::span<const std::int64_t> clusters, BlockSize size) {
  const auto largest = std::max(size.n_events, size.most_of_cluster);
  std::vector<EntryRange> blocks;
  for (auto first = range.first; first < range.last;) {
    const auto limit = std::min(first + size.n_events, range.last);
    const auto beyond = std::ranges::upper_bound(clusters, limit);
    const auto boundary = beyond == clusters.begin() ? first : *(beyond - 1);
    if (limit == range.last || boundary > first) {
      const auto last = limit == range.last ? limit : boundary;
      blocks.push_back({range.file, first, last});
      first = last;
      continue;
    }
    const auto end = std::min(beyond == clusters.end() ? range.last : *beyond, range.last);
    const auto n_parts = (end - first + largest - 1) / largest;
    const auto begin = first;
    for (std::int64_t part = 1; part <= n_parts; ++part) {
      const auto last = begin + (end - begin) * part / n_parts;
      blocks.push_back({range.file, first, last});
      first = last;
    }
  }
  return blocks;
}

}  // namespace forkrun
