#include <forkrun/formats/rntuple/output/written_check.hpp>

#include <vector>

#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/rntuple/page_values.hpp>
#include <forkrun/formats/rntuple/write/page_encoding.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::rntuple {

namespace {

/// Pages of a file that was written.
class WrittenPages {
 public:
  explicit WrittenPages(const NtupleTable& table) : ntuple_{table.ntuple()}, file_{table.file()} {}

  /// Checks the pages of all clusters.
  void check_checksums(std::size_t column) {
    for (std::size_t cluster = 0; cluster < ntuple_.clusters.size(); ++cluster) {
      const auto& pages = ntuple_.clusters[cluster].columns[column].pages;
      for (std::size_t page = 0; page < pages.size(); ++page) {
        static_cast<void>(stored(cluster, column, page));
      }
    }
  }
  void check_values(const WrittenPage& sample) {
    const auto& [cluster, column, page, digest] = sample;
    const auto& of = ntuple_.schema().columns[column];
    const auto n = ntuple_.clusters[cluster].columns[column].pages[page].n_values;
    const auto packed = unpacked(stored(cluster, column, page), packed_bytes(of, n));
    const auto values = values_.resize(n * size_of(stored_element(of)));
    decode_stored(of, packed, n, values.data());
    if (xxh3(values) != digest) {
      fail(cluster, column, page);
    }
  }

 private:
  std::span<const std::byte> stored(std::size_t cluster, std::size_t column, std::size_t number) {
    const auto& page = ntuple_.clusters[cluster].columns[column].pages[number];
    const auto bytes = raw_.resize(page.where.n_bytes + checksum_bytes);
    file_.read(static_cast<std::int64_t>(page.where.place), bytes);
    const auto content = std::span<const std::byte>{bytes}.first(page.where.n_bytes);
    if (!page.has_checksum || xxh3(content) != checksum_of(bytes)) {
      fail(cluster, column, number);
    }
    return content;
  }
  std::span<const std::byte> unpacked(std::span<const std::byte> stored, std::size_t n_bytes) {
    if (stored.size() < n_bytes) {
      unzip(stored, packed_.resize(n_bytes));
      return packed_.view();
    }
    return stored;
  }
  [[noreturn]] void fail(std::size_t cluster, std::size_t column, std::size_t page) const {
    throw VerificationFailed("field \"" +
                             ntuple_.schema().fields[ntuple_.schema().columns[column].field].name +
                             "\": page " + std::to_string(page) + " in cluster " +
                             std::to_string(cluster) + " is not what was written");
  }

  const Ntuple& ntuple_;
  const root_io::InputFile& file_;
  Bytes raw_;
  Bytes packed_;
  Bytes values_;
};

}  // namespace

void check_written(const std::string& path, const std::string& ntuple, std::int64_t n_entries,
                   std::span<const WrittenPage> samples, std::size_t n_threads) {
  root_io::InputFile file{path};
  const auto table = ntuple_in(file, ntuple);
  if (!table || table->n_entries() != n_entries) {
    throw VerificationFailed(path + ": RNTuple \"" + ntuple + "\" has not the " +
                             counted(n_entries, "entry", "entries") + " that were written");
  }
  root_io::naming_file(path, [&] {
    in_parallel(table->ntuple().schema().columns.size(), n_threads,
                [&](std::size_t column) { WrittenPages{*table}.check_checksums(column); });
    in_parallel(samples.size(), n_threads,
                [&](std::size_t i) { WrittenPages{*table}.check_values(samples[i]); });
  });
}

}  // namespace forkrun::rntuple
