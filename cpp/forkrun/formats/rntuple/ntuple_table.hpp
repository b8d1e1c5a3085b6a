#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/formats/rntuple/field_column.hpp>
#include <forkrun/formats/rntuple/ntuple.hpp>
#include <forkrun/formats/rntuple/page_reader.hpp>
#include <forkrun/formats/table/table.hpp>

namespace forkrun::rntuple {

/// Lists one after the other: where each ends, and where the items of all of them are.
struct Lists {
  std::vector<std::int64_t> offsets;  ///< (n + 1,), the first is 0
  std::vector<ItemRange> items;       ///< by cluster
};

/// Reads which items lists have. All columns within one list share it: what was asked for last
/// is kept, as each of them asks for the same. Any thread.
class ListReader {
 public:
  explicit ListReader(const PageReader::Of& of) : pages_{of, ElementType::int64} {}

  /// The same lists of another file. \throws Error
  void open(const PageReader::Of& of) {
    forget();
    pages_.open(of);
  }
  /// \throws Error
  [[nodiscard]] std::shared_ptr<const Lists> read(const std::vector<ItemRange>& lists);
  /// Adds what will be read of the file for these entries. Any thread.
  void add_parts(ItemRange entries, std::vector<StoredPart>& to) const {
    entries.first -= entries.first > 0 ? 1 : 0;  // where the list before ends
    pages_.add_parts(entries, to);
  }
  /// Gives back the memory of what is kept.
  void forget();

 private:
  void add(const ItemRange& lists, Lists& into);

  std::mutex mutex_;
  PageReader pages_;
  std::vector<std::int64_t> ends_;
  std::vector<ItemRange> asked_;  ///< for `kept_`
  std::shared_ptr<const Lists> kept_;
};

/// Sizes of the pages of a column, and their compression.
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
  [[nodiscard]] std::vector<ItemRange> item_ranges(std::int64_t first, std::int64_t last) const;
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

namespace forkrun::root_io {

class InputFile;
}

namespace forkrun::rntuple {

/// The RNTuple at a path of a ROOT file; null if something else has the name, or nothing. The file
/// has to outlive it. \throws InputError if it is damaged, or of a form that is not known.
[[nodiscard]] std::unique_ptr<NtupleTable> ntuple_in(root_io::InputFile& file,
                                                     const std::string& path);

/// Whether objects of this class are RNTuples, of the format's version 1 or before it.
[[nodiscard]] bool is_class_name(std::string_view name);

}  // namespace forkrun::rntuple
