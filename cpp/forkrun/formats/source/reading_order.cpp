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

void JoinedColumn::begin(ColumnType type, std::size_t n_events) {
  type_ = type;
  value_bytes_ = size_of(type.element);
  for (auto& offsets : offsets_) {
    offsets.assign(1, 0);
  }
  offsets_.front().reserve(n_events + 1);
  values_.clear();
}

void JoinedColumn::add(const Column& part, std::size_t first, std::size_t last) {
  for (std::size_t level = 0; level < type_.n_levels(); ++level) {
    auto& offsets = offsets_.at(level);
    const auto added = part.offsets(level).subspan(first, last - first + 1);
    const auto shift = offsets.back() - added.front();
    const auto n_before = offsets.size();
    offsets.resize(n_before + added.size() - 1);
    std::transform(added.begin() + 1, added.end(),
                   offsets.begin() + static_cast<std::ptrdiff_t>(n_before),
                   [shift](std::int64_t offset) { return offset + shift; });
    first = static_cast<std::size_t>(added.front());
    last = static_cast<std::size_t>(added.back());
  }
  const auto item_bytes = value_bytes_ * type_.n_in_item();
  const auto* values = part.values<std::byte>().data();
  values_.insert(values_.end(), values + first * item_bytes, values + last * item_bytes);
}

void JoinedColumn::fill(Column& into) const {
  into.reset(type_);
  for (std::size_t level = 0; level < type_.n_levels(); ++level) {
    const auto& offsets = offsets_.at(level);
    std::ranges::copy(offsets, into.resize_offsets(offsets.size() - 1, level).begin());
  }
  std::ranges::copy(values_, into.resize_values(values_.size() / value_bytes_));
}

}  // namespace forkrun::root_io
