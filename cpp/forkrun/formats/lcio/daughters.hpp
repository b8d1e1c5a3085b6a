#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/formats/lcio/event_block.hpp>

namespace forkrun::lcio {

/// The daughters of the particles of a collection, which are stored with their parents: those of
/// each particle in the order of their indices, over all collections of particles of its event.
struct Daughters {
  std::vector<std::int64_t> ends{0};  ///< of each particle's daughters; begins with 0
  std::vector<Target> daughters;
};

/// Needs `find_targets` of the events.
[[nodiscard]] Daughters find_daughters(EventBlock& events, std::string_view collection);

}  // namespace forkrun::lcio
