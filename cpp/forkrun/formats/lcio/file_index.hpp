#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/core/data/event_id.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/lcio/event_file.hpp>

namespace forkrun::lcio {

/// Of what lies together in an index: events, packed and unpacked.
constexpr std::int64_t cluster_bytes = 1 << 20;

/// What a file of LCIO holds.
struct FileIndex {
  std::array<std::uint64_t, 2> identity{};  ///< depends on where events are, and on their headers
  std::vector<EventId> events;
  std::vector<std::int64_t> clusters;  ///< first event of each MiB, then the number of events
  std::vector<ColumnDescription> columns;
};

/// Reads the headers of all events; of the events themselves the first with each collection.
/// \throws InputError
[[nodiscard]] FileIndex index_file(const EventFile& file, std::uint32_t events_per_lumi);

/// Those of a file's columns that have these names, in their order, and numbers of lumis,
/// "event/9". `path`: for errors. \throws InputError if there is none of a name
[[nodiscard]] std::vector<ColumnDescription> columns_named(
    const std::string& path, const std::vector<ColumnDescription>& columns,
    const std::vector<std::string>& names);

}  // namespace forkrun::lcio
