#include <forkrun/histograms/cell_table.hpp>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace forkrun {

namespace {

/// Smaller stripes would only cost locks.
constexpr std::size_t fewest_cells = 64;
constexpr std::size_t prefetch_distance_of_counts = 16;
/// Number of additions, of all threads, for which room is made at a time.
constexpr std::int64_t n_reserved = 1 << 24;

SharedTable::Stripes stripes_of(std::size_t n_cells) {
  constexpr std::size_t most = SharedTable::most_stripes;
  const std::size_t n_each = std::bit_ceil(std::max(fewest_cells, (n_cells + most - 1) / most));
  return {(n_cells + n_each - 1) / n_each, static_cast<unsigned>(std::countr_zero(n_each))};
}

}  // namespace

CellTable::CellTable(Moments moments, std::size_t n_cells)
    : moments_{moments}, sums_{n_sums_of(moments), n_cells}, in_parts_{n_cells} {}

CellTable::CellTable(Moments moments, ExactSums sums)
    : moments_{moments}, sums_{std::move(sums)}, in_parts_{sums_.n_cells()} {}

void CellTable::add(const CellFills& fills) {
  moments_ == Moments::weights ? in_parts_.add(fills, sums_) : add_moments(sums_, moments_, fills);
}

void CellTable::fill(std::span<const FillAxis> axes, FillColumn weights, FillColumn samples,
                     std::size_t n_entries) {
  constexpr double one = 1;
  const bool has_weights = weights.values != nullptr || weights.floats != nullptr;
  if (has_weights || has_samples(moments_) || n_entries > ExactSums::most_counted) {
    find_fills(axes, has_weights ? weights : FillColumn{&one, true},
               has_samples(moments_) ? std::optional{samples} : std::nullopt, n_entries,
               [this](const CellFills& fills) { add(fills); });
  } else if (n_entries > 0) {
    count_entries(sums_.counts(n_entries), axes, n_entries);
  }
}

std::size_t CellTable::n_bytes(Moments moments, std::size_t n_cells) {
  return n_cells * (n_sums_of(moments) * 2 * sizeof(std::uint64_t) +
                    (has_samples(moments) ? 0 : sizeof(std::uint32_t)));
}

void CellTable::count(std::span<const std::uint32_t> cells) {
  const auto counts = sums_.counts(cells.size());
  for (const auto cell : cells) {
    ++counts[cell];
  }
}

void CellTable::move_cells(std::span<const std::uint32_t> places, std::size_t n_cells) {
  in_parts_.move_to(sums_);
  sums_.move_cells(places, n_cells);
  in_parts_ = SumsInParts{n_cells};
}

void CellTable::clear() {
  in_parts_.clear();
  sums_.clear();
}

void CellTable::take(CellTable& other) {
  if (!in_parts_.take(other.in_parts_)) {
    other.in_parts_.move_to(other.sums_);
  }
  sums_.merge(other.sums_);
  other.clear();
}

const ExactSums& CellTable::total() {
  in_parts_.move_to(sums_);
  return sums_;
}

SharedTable::SharedTable(Moments moments, std::size_t n_cells)
    : moments_{moments}, sums_{n_sums_of(moments), n_cells}, stripes_{stripes_of(n_cells)} {}

/// `call`: gets the first of a stripe's fills and their number.
template <typename Call>
void SharedTable::for_each_stripe(std::span<const std::uint32_t> ends, const Call& call) {
  std::size_t first = 0;
  for (std::size_t stripe = 0; stripe < ends.size(); ++stripe) {
    if (ends[stripe] > first) {
      const std::scoped_lock lock{locks_[stripe].mutex};
      call(first, ends[stripe] - first);
    }
    first = ends[stripe];
  }
}

void SharedTable::count(std::span<const std::uint32_t> cells, std::span<const std::uint32_t> ends) {
  const auto n = static_cast<std::int64_t>(cells.size());
  while (true) {
    {
      const std::shared_lock lock{room_};
      if (n_counts_left_.fetch_sub(n) >= n) {
        return for_each_stripe(ends, [&](std::size_t first, std::size_t size) {
          auto* const counts = counts_.data();
          for (std::size_t i = first; i < first + size; ++i) {
            const std::size_t later = std::min(i + prefetch_distance_of_counts, cells.size() - 1);
            __builtin_prefetch(counts + cells[later], 1);
            ++counts[cells[i]];
          }
        });
      }
    }
    const std::scoped_lock lock{room_};
    if (n_counts_left_ < n) {
      counts_ = sums_.counts(n_reserved);
      n_counts_left_ = n_reserved;
    }
  }
}

void SharedTable::add(const CellFills& fills, std::span<const std::uint32_t> ends) {
  const auto n = static_cast<std::int64_t>(fills.cells.size());
  const MomentColumns moments{moments_, fills};
  const auto columns = moments.columns();
  const auto ranges = ExactSums::ranges_of(columns, fills.cells.size());
  while (ranges) {
    {
      const std::shared_lock lock{room_};
      if (sums_.has_room(*ranges) && n_adds_left_.fetch_sub(n) >= n) {
        return for_each_stripe(ends, [&](std::size_t first, std::size_t size) {
          std::array<const double*, 4> some{};
          std::ranges::transform(columns, some.begin(), [&](auto c) { return c + first; });
          sums_.add_in_room(fills.cells.subspan(first, size), std::span{some}.first(columns.size()),
                            fills.cells.size() - first - size);
        });
      }
    }
    const std::scoped_lock lock{room_};
    sums_.make_room(*ranges, n_reserved);
    n_adds_left_ = n_reserved;
  }
  const std::scoped_lock lock{room_};  // some are not finite
  sums_.add(fills.cells, columns);
}

void SharedTable::clear() {
  sums_.clear();
  n_adds_left_ = 0;
  n_counts_left_ = 0;
}

/// Copies share its memory: the next to fill makes room, and so takes memory of its own.
const ExactSums& SharedTable::total() {
  n_adds_left_ = 0;
  n_counts_left_ = 0;
  return sums_;
}

}  // namespace forkrun
