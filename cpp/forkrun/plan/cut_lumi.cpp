#include <forkrun/plan/cut_lumi.hpp>

#include <algorithm>
#include <cmath>

namespace forkrun {

namespace {

double real(std::int64_t n) { return static_cast<double>(n); }
std::int64_t ceiling(double x) { return static_cast<std::int64_t>(std::ceil(x)); }
std::int64_t floor_of(double x) { return static_cast<std::int64_t>(std::floor(x)); }
/// The even one of two equally near integers.
std::int64_t nearest(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }
std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// End of a unit that begins with the range: a cluster's end, if that is near the wanted size; else
/// at equal sizes of units. The end of the range counts as one, too.
std::int64_t end_of_unit(const RangeToCut& range, std::int64_t first, std::int64_t wanted,
                         std::int64_t most) {
  const std::int64_t target = first + std::max<std::int64_t>(wanted, 1);
  if (target >= range.last) {
    return range.last;
  }
  const auto& clusters = range.clusters;
  const auto after = std::ranges::lower_bound(clusters, target);
  auto end = after != clusters.end() && *after < range.last ? *after : range.last;
  const std::int64_t before = after == clusters.begin() ? 0 : *(after - 1);
  const bool is_near = first + (wanted + 1) / 2 <= before;
  if (is_near && (end == range.last || target - before <= end - target)) {
    end = before;
  }
  const std::int64_t n_events = end - first;
  const auto n_units = std::max(nearest(real(n_events) / real(wanted)), divided_up(n_events, most));
  return first + divided_up(n_events, n_units);
}

}  // namespace

std::int64_t UnitSizes::wanted(std::int64_t n_left) const {
  const auto size = ceiling((real(n_left) + settings_.last) / settings_.n_units_left);
  return std::min(std::max(size, settings_.least), settings_.limit);
}

std::int64_t UnitSizes::most(std::int64_t n_left) const {
  return std::min(floor_of(settings_.slack * real(wanted(n_left))), settings_.limit);
}

std::int64_t UnitSizes::share(std::int64_t n_events, std::int64_t n_left) const {
  const auto n_parts =
      std::max(nearest(real(n_events) / real(wanted(n_left))), divided_up(n_events, most(n_left)));
  return divided_up(n_events, std::max<std::int64_t>(n_parts, 1));
}

void cut_lumi(std::span<const RangeToCut> ranges, std::int64_t n_left, const UnitSizes& sizes,
              std::vector<Cut>& cuts) {
  std::int64_t n_events = 0;
  for (const auto& range : ranges) {
    n_events += range.last - range.first;
  }
  std::int64_t part = 0;
  std::int64_t missing = sizes.share(n_events, n_left);
  std::int64_t room = sizes.most(n_left);
  for (std::size_t number = 0; number < ranges.size(); ++number) {
    const auto& range = ranges[number];
    for (auto first = range.first; first < range.last;) {
      const auto end = end_of_unit(range, first, missing, room);
      cuts.push_back({static_cast<std::int64_t>(number), part, first, end});
      const auto taken = end - first;
      n_events -= taken;
      n_left -= taken;
      missing -= taken;
      room -= taken;
      if (end < range.last || 2 * missing <= taken) {
        ++part;
        missing = sizes.share(n_events, n_left);
        room = sizes.most(n_left);
      }
      first = end;
    }
  }
}

}  // namespace forkrun
