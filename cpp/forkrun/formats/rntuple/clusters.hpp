#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/formats/rntuple/record_cursor.hpp>

namespace forkrun::rntuple {

/// Some consecutive values of a column, packed together.
struct Page {
  std::uint32_t n_values{};
  bool has_checksum{};  ///< behind its bytes
  Locator where;
};

/// With its checksum.
[[nodiscard]] ByteRange range_of(const Page& page);

/// The pages of a column in a cluster.
struct PagesOfColumn {
  std::span<const Page> pages;
  std::uint64_t n_values{};
  std::uint32_t compression{};  ///< ROOT's number
  bool is_suppressed{};         ///< another representation of the field is used
};

/// Consecutive entries whose pages were written together. It is moved only: its columns look at its
/// pages.
struct Cluster {
  Cluster() = default;
  Cluster(Cluster&&) = default;
  Cluster& operator=(Cluster&&) = default;

  std::uint64_t first_entry{};
  std::uint64_t n_entries{};
  std::vector<PagesOfColumn> columns;  ///< those that there were when it was written
  std::vector<Page> pages;             ///< of all columns
};

/// Adds the clusters of a page list. `header_checksum`: of the header that it belongs to.
/// \throws Error
void add_clusters(RecordCursor from, std::uint64_t header_checksum, std::uint64_t n_file_bytes,
                  std::vector<Cluster>& clusters);

}  // namespace forkrun::rntuple
