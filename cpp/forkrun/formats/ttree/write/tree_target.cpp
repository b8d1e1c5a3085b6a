#include <forkrun/formats/ttree/write/tree_target.hpp>

namespace forkrun::root_io {

std::vector<CountPlace> count_places(std::span<const LeafInEntry> leaves) {
  std::vector<CountPlace> places;
  std::optional<std::size_t> at = 0;
  for (std::size_t number = 0; number < leaves.size(); ++number) {
    const auto& leaf = leaves[number];
    if (leaf.counts) {
      places.push_back({number, at, leaf.value_size, leaf.is_unsigned});
    }
    at = at && leaf.is_fixed ? std::optional{*at + leaf.value_size * leaf.n_values} : std::nullopt;
  }
  return places;
}

}  // namespace forkrun::root_io
