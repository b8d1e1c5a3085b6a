#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/rntuple/field_column.hpp>
#include <forkrun/formats/rntuple/list_reader.hpp>
#include <forkrun/formats/rntuple/ntuple.hpp>
#include <forkrun/formats/table/table.hpp>

namespace forkrun::rntuple {

/// What the pages of a column take, and how they are compressed.
struct ColumnAccount {
  std::int64_t n_bytes{};         ///< uncompressed
  std::int64_t n_stored_bytes{};  ///< in the file
  std::uint32_t compression{};    ///< ROOT's number
};

/// The entries of an RNTuple.
class NtupleTable final : public Table {
 public:
  /// `file` outlives it. \throws InputError
  NtupleTable(std::string name, std::span<const std::byte> anchor, const root_io::InputFile& file);

  [[nodiscard]] std::int64_t n_entries() const override {
    return static_cast<std::int64_t>(ntuple_.n_entries);
  }
  [[nodiscard]] bool has(const std::string& column) const override {
    return ntuple_.description->by_name.contains(column);
  }
  [[nodiscard]] std::unique_ptr<ColumnReader> reader(const std::string& column) const override;

  [[nodiscard]] const std::vector<FieldColumn>& columns() const {
    return ntuple_.description->columns;
  }
  [[nodiscard]] const FieldColumn& column(const std::string& name) const;
  /// Where entries are.
  [[nodiscard]] std::vector<Stretch> stretches(std::int64_t first, std::int64_t last) const;
  [[nodiscard]] const Ntuple& ntuple() const { return ntuple_; }
  [[nodiscard]] const root_io::InputFile& file() const { return file_; }
  [[nodiscard]] ColumnAccount account(const FieldColumn& column) const;
  /// Entries where reading may begin at little cost: those of clusters and, where these are large,
  /// of pages; then the number of entries.
  [[nodiscard]] std::vector<std::int64_t> borders() const;
  /// First entry of each cluster that has some, then the number of entries.
  [[nodiscard]] std::vector<std::int64_t> cluster_begins() const;

 private:
  class Reader;

  [[nodiscard]] bool is_of_entries(std::size_t column) const;
  [[nodiscard]] std::shared_ptr<ListReader> list_of(const FieldColumn& column,
                                                    const Representations& stored,
                                                    std::size_t level) const;
  [[nodiscard]] PageReader::Of pages_of(const FieldColumn& column, const Representations& stored,
                                        std::size_t level) const;

  const root_io::InputFile& file_;
  Ntuple ntuple_;
  mutable std::mutex mutex_;
  mutable std::map<Representations, std::shared_ptr<ListReader>> lists_;
};

}  // namespace forkrun::rntuple
