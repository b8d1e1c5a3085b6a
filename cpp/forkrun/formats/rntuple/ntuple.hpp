#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <forkrun/formats/rntuple/field_column.hpp>
#include <forkrun/formats/rntuple/record_cursor.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// Some consecutive values of a column, packed together.
struct Page {
  std::uint32_t n_values{};
  bool has_checksum{};  ///< after its bytes
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

/// Fields of an RNTuple, and their columns.
struct Description {
  std::string name;
  std::uint64_t header_checksum{};
  Schema schema;
  std::vector<FieldColumn> columns;
  std::unordered_map<std::string, std::size_t> by_name;
};

/// Where a file says it.
struct DescriptionRecord {
  std::vector<std::byte> header;  ///< as it is stored
  std::uint64_t n_unpacked{};
  std::vector<std::byte> extension;  ///< of the header, in the footer
  bool operator==(const DescriptionRecord&) const = default;
};

/// Description in such a record. Files that were written alike have equal records, and share one
/// description: a thousand fields take a while. Any thread. \throws Error
[[nodiscard]] std::shared_ptr<const Description> description_of(DescriptionRecord record);

/// \throws Error if a header or footer says that it uses features that are not known.
void require_known_features(RecordCursor& from);

}  // namespace forkrun::rntuple

namespace forkrun::root_io {

class InputFile;
}

namespace forkrun::rntuple {

/// An RNTuple: its fields, and the places of their values in the file.
struct Ntuple {
  std::shared_ptr<const Description> description{};
  std::uint64_t n_entries{};
  std::vector<Cluster> clusters{};  ///< in the order of their entries
  std::size_t n_attribute_sets{};

  [[nodiscard]] const Schema& schema() const { return description->schema; }
};

/// `anchor`: the object of class ROOT::RNTuple in the file, uncompressed. \throws Error that says
/// what is damaged, or is not known to this version.
[[nodiscard]] Ntuple open_ntuple(std::span<const std::byte> anchor, const root_io::InputFile& file);

}  // namespace forkrun::rntuple
