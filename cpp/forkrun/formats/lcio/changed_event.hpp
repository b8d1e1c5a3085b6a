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

/// What an output does not have of its input.
struct Dropped {
  std::set<std::string, std::less<>> collections;
  std::set<std::string, std::less<>> parameters;  ///< of events
};

/// What an event gets in addition. A parameter replaces the one that has its name.
struct Added {
  std::vector<CollectionName> collections;
  std::span<const std::byte> blocks;  ///< of these collections
  Parameters parameters;
};

/// The two records of an event of a file, without what is dropped and with what is added. Pointers
/// to objects of collections that are dropped become null; a collection of references loses these.
/// \throws InputError with file and event
[[nodiscard]] std::vector<std::byte> changed_event(const EventFile& file, std::size_t entry,
                                                   const Dropped& dropped, const Added& added);

}  // namespace forkrun::lcio
