#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/core/data/event_id.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/lcio/event_file.hpp>

namespace forkrun::lcio {

/// Size of a cluster in an index: packed and unpacked bytes of events.
constexpr std::int64_t cluster_bytes = 1 << 20;

/// Content of an LCIO file.
struct FileIndex {
  std::array<std::uint64_t, 2>
      identity{};  ///< depends on the places of events, and on their headers
  std::vector<EventId> events;
  std::vector<std::int64_t> clusters;  ///< first event of each MiB, then the number of events
  std::vector<ColumnDescription> columns;
};

/// Reads the headers of all events, and the first event with each collection. \throws InputError
[[nodiscard]] FileIndex index_file(const EventFile& file, std::uint32_t events_per_lumi);

/// Columns of a file with these names, in order, and numbers of lumis, "event/9". `path`: for
/// errors. \throws InputError for an unknown name
[[nodiscard]] std::vector<ColumnDescription> columns_named(
    const std::string& path, const std::vector<ColumnDescription>& columns,
    const std::vector<std::string>& names);

}  // namespace forkrun::lcio
