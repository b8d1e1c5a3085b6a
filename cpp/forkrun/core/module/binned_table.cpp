#include <forkrun/core/module/binned_table.hpp>

#include <algorithm>
#include <string>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

BinnedTable::Outside outside_of(const ConditionPayload& payload) {
  const auto found = payload.attributes.find("outside");
  const std::string name = found == payload.attributes.end() ? "nearest" : found->second;
  return name == "flow"    ? BinnedTable::Outside::flow
         : name == "error" ? BinnedTable::Outside::error
                           : BinnedTable::Outside::nearest;
}

std::size_t n_axes(const ConditionPayload& payload) {
  std::size_t n = 0;
  while (payload.arrays.contains("edges_" + std::to_string(n))) {
    ++n;
  }
  return n;
}

}  // namespace

BinnedTable::BinnedTable(const ConditionPayload& payload, std::size_t n_coordinates)
    : values_{ArrayView<double>{payload.array("values")}.values()},
      variances_{ArrayView<double>{payload.array("variances")}.values()},
      outside_{outside_of(payload)} {
  if (n_axes(payload) != n_coordinates) {
    throw Error{"the table has " + counted(n_axes(payload), "coordinate") + ", not " +
                std::to_string(n_coordinates)};
  }
  for (std::size_t axis = 0; axis < n_coordinates; ++axis) {
    const auto& array = payload.array("edges_" + std::to_string(axis));
    edges_.push_back(ArrayView<double>{array}.values());
  }
}

std::size_t BinnedTable::find(const std::array<double, 3>& at, std::size_t n_coordinates) const {
  if (n_coordinates != edges_.size()) {
    throw Error{"a table of " + counted(edges_.size(), "coordinate") + " is given " +
                std::to_string(n_coordinates)};
  }
  std::size_t place = 0;
  for (std::size_t axis = 0; axis < n_coordinates; ++axis) {
    const auto edges = edges_[axis];
    // NaN is beyond the last edge, in NumPy's order.
    const auto above =
        std::isnan(at[axis]) ? edges.end() : std::ranges::upper_bound(edges, at[axis]);
    auto bin = static_cast<std::size_t>(above - edges.begin());
    if (outside_ != Outside::flow) {
      const auto nearest = std::clamp<std::size_t>(bin, 1, edges.size() - 1);
      if (outside_ == Outside::error && nearest != bin) {
        throw Error{std::to_string(at[axis]) + " is outside of axis " + std::to_string(axis) +
                    " of the table, [" + std::to_string(edges.front()) + ", " +
                    std::to_string(edges.back()) + ")"};
      }
      bin = nearest;
    }
    place = place * (edges.size() + 1) + bin;
  }
  return place;
}

}  // namespace forkrun
