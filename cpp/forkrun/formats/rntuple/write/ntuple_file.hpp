#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/formats/rntuple/ntuple.hpp>
#include <forkrun/formats/rntuple/schema.hpp>
#include <forkrun/formats/rntuple/write/pending_column.hpp>
#include <forkrun/formats/rntuple/write/record_writer.hpp>
#include <forkrun/formats/root_file/plain_file.hpp>

namespace forkrun::rntuple {

/// A page that was made of values, to be compared with the file.
struct WrittenPage {
  std::size_t cluster{};
  std::size_t column{};
  std::size_t page{};  ///< of the column, in the cluster
  std::uint64_t digest{};
};

/// Writes an RNTuple to a file, cluster by cluster, without ROOT. Its pages have checksums, and
/// identical ones of a cluster share their bytes, as ROOT has it.
class NtupleFile {
 public:
  /// `ntuple`: its path in the file. Fields and columns are numbered depth first in the file.
  /// \throws OutputError
  NtupleFile(root_io::PlainFile& file, std::string ntuple, const Schema& schema,
             Compression compression);

  /// Samples of what was written: of each column one page in some. Columns as in the file.
  [[nodiscard]] const std::vector<WrittenPage>& samples() const { return samples_; }
  /// Adds a page to the present cluster, after those that its column has there. `column`: of the
  /// schema as it was given; `compression`: ROOT's number, of the column in this cluster.
  void add_page(std::size_t column, const SealedPage& page, int compression);
  /// The present cluster is complete. \throws OutputError
  void end_cluster(std::uint64_t n_entries);
  /// All clusters are there: writes what says where they are. The file is left open.
  void finish();

 private:
  struct WrittenColumn {
    std::vector<Page> pages;
    std::uint64_t n_values{};
    std::uint32_t compression{};
  };
  struct WrittenCluster {
    std::uint64_t first_entry{};
    std::uint64_t n_entries{};
    std::vector<WrittenColumn> columns;
  };
  /// Pages are collected in chunks, which are records of the file.
  struct PlaceInChunk {
    std::size_t chunk{};
    std::size_t begin{};
  };
  struct Group {
    std::uint64_t first_entry{};
    std::uint64_t n_entries{};
    std::uint32_t n_clusters{};
    Locator where;
    std::uint64_t n_unpacked{};
  };

  static void put_pages(RecordWriter& to, const WrittenColumn& column, std::uint64_t first_value);
  [[nodiscard]] Locator write_blob(std::span<const std::byte> payload);
  /// Its place, and the size that it has unpacked.
  [[nodiscard]] std::pair<Locator, std::uint64_t> write_envelope(std::span<const std::byte> bytes);
  [[nodiscard]] PlaceInChunk place_of(std::span<const std::byte> page);
  void write_chunk();
  void write_group();
  void write_anchor(const std::pair<Locator, std::uint64_t>& footer);

  root_io::PlainFile& file_;
  std::string path_;
  std::vector<std::uint32_t> number_in_file_;  ///< of each column of the schema as it was given
  Compression compression_;
  std::pair<Locator, std::uint64_t> header_;
  std::uint64_t header_checksum_{};
  WrittenCluster cluster_;  ///< places of pages in their chunks; then in the file
  std::vector<std::vector<std::size_t>> chunk_of_page_;     ///< by column
  std::map<std::string, PlaceInChunk, std::less<>> small_;  ///< pages of the present cluster
  std::vector<std::uint64_t> chunks_;  ///< places of those that are written, of the cluster
  Bytes chunk_;
  std::vector<WrittenCluster> clusters_;       ///< of the present group
  std::vector<std::uint64_t> n_before_group_;  ///< values of each column
  std::size_t n_pages_{};                      ///< in the group
  std::vector<Group> groups_;
  std::uint64_t n_entries_{};
  std::size_t n_clusters_{};
  std::vector<WrittenPage> samples_;
};

}  // namespace forkrun::rntuple
