#include <forkrun/replay/counting_source.hpp>

#include <algorithm>
#include <numeric>

#include <forkrun/concurrency/cache_lines.hpp>

namespace forkrun::replay {

namespace {

class CountingLane final : public SourceLane {
 public:
  std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& /*lumis*/) override {
    const auto& [file, first, last] = block.front();
    events_.resize(static_cast<std::size_t>(last - first));
    std::iota(events_.begin(), events_.end(), static_cast<std::uint64_t>(first));
    return events_;
  }
  void read(std::size_t /*column*/, Column& /*into*/) override {}

 private:
  CacheLineVector<std::uint64_t> events_;
};

}  // namespace

void CountingSource::cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const {
  const auto size = static_cast<std::int64_t>(block_size == 0 ? 1 : block_size);
  for (const auto& range : unit.ranges) {
    for (auto first = range.first; first < range.last; first += size) {
      blocks.begin({range.file, first, std::min(first + size, range.last)});
    }
  }
}

std::unique_ptr<SourceLane> CountingSource::make_lane() { return std::make_unique<CountingLane>(); }

}  // namespace forkrun::replay
