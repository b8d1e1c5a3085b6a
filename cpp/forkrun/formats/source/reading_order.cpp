#include <forkrun/formats/source/reading_order.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>

namespace forkrun::root_io {

namespace {

/// Largest gap between two ranges that costs less to read than another piece.
constexpr std::int64_t most_between = 32;

}  // namespace

ReadingOrder::ReadingOrder(EntryRanges block) : slices_(block.size()) {
  std::vector<std::size_t> order(block.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [block](std::size_t number) {
    const auto& range = block[number];
    return std::tuple{range.file, range.first, range.last};
  });
  std::int64_t n_read = 0;
  std::size_t place = 0;
  for (const auto number : order) {
    const auto& range = block[number];
    auto* piece = pieces_.empty() ? nullptr : &pieces_.back();
    const bool is_near =
        piece != nullptr && piece->file == range.file && range.first - piece->last <= most_between;
    is_block_ = is_block_ && number == place++ && (!is_near || piece->last == range.first);
    if (is_near) {
      n_read += range.first - piece->last;
      piece->last = range.last;
    } else {
      pieces_.push_back(range);
    }
    const auto first = static_cast<std::size_t>(n_read);
    n_read += range.last - range.first;
    slices_[number] = {first, static_cast<std::size_t>(n_read)};
  }
}

}  // namespace forkrun::root_io
