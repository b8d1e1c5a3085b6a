#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/formats/lcio/event_file.hpp>
#include <forkrun/formats/lcio/event_header.hpp>

namespace forkrun::lcio {

/// Contents of the input that an output drops.
struct Dropped {
  std::set<std::string, std::less<>> collections;
  std::set<std::string, std::less<>> parameters;  ///< of events
};

/// Additions to an event. A parameter replaces another of the same name.
struct Added {
  std::vector<CollectionName> collections;
  std::span<const std::byte> blocks;  ///< of these collections
  Parameters parameters;
};

/// Makes the two records of an event of a file, without dropped collections and with additions.
/// Pointers to objects of dropped collections become null; a collection of references loses these.
/// \throws InputError with file and event
[[nodiscard]] std::vector<std::byte> changed_event(const EventFile& file, std::size_t entry,
                                                   const Dropped& dropped, const Added& added);

}  // namespace forkrun::lcio
